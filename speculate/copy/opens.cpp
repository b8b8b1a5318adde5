// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening. Only regular files and directories are ever opened: what is not known to be one is looked at by a descriptor
// that opens nothing (O_PATH) first, since to open a FIFO or a device can be seen from outside.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

constexpr long kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kDuplicate = 0, kDuplicateClosing = 1030, kGetFlags = 3;
constexpr int64_t kProcMagic = 0x9fa0, kSysMagic = 0x62656572, kCgroupMagic = 0x27e0eb, kCgroup2Magic = 0x63677270,
                  kTraceMagic = 0x74726163, kDebugMagic = 0x64626720;

bool begins_with(const char *text, const char *beginning) {
  while (*beginning)
    if (*text++ != *beginning++) return false;
  return true;
}

bool is_same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

/// Opens without touching the access time where that is allowed.
long open_how(int directory, const char *path, uint64_t flags, uint64_t resolve) {
  OpenHow how = {flags | kNoAccessTime, 0, resolve};
  if (flags & kPathOnly) how.flags = flags;
  const long result = call(__NR_openat2, directory, path, &how, sizeof how);
  if (result != -kPermission || flags & kPathOnly) return result;
  how.flags = flags;
  return call(__NR_openat2, directory, path, &how, sizeof how);
}

/// A file of a system's own, in which reading may do something.
bool is_special(long number) {
  int64_t facts[15];
  if (call(__NR_fstatfs, number, facts)) return true;
  for (const int64_t magic : {kProcMagic, kSysMagic, kCgroupMagic, kCgroup2Magic, kTraceMagic, kDebugMagic})
    if (facts[0] == magic) return true;
  return false;
}

void self_path(char *to, long number) {
  memcpy(to, "/proc/self/fd/", 14);
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  int at = 14;
  while (n) to[at++] = digits[--n];
  to[at] = 0;
}

/// Takes a descriptor for the program.
long take(Kind kind, int flags) {
  const long number = call(__NR_fcntl, state.null, flags & kCloseOnExec ? kDuplicateClosing : kDuplicate, 0L);
  if (number < 0) return number;
  if (number >= kTable) end(Ended::kDescriptors, number);
  Descriptor &made = state.table[number];
  memset(&made, 0, sizeof made);
  made.kind = kind;
  made.flags = static_cast<uint32_t>(flags);
  return number;
}

long adopt_opened(long number, int directory, const char *path, int flags) {
  if (number < 0) return number;
  Stat facts;
  if (number >= kTable || call(__NR_fstat, number, &facts)) end(Ended::kDescriptors, number);
  const unsigned type = facts.mode & kTypeMask;
  if (type != kTypeRegular && type != kTypeDirectory) { // it was another file a moment ago
    call(__NR_close, number);
    return -kNoEntry;
  }
  Descriptor &made = state.table[number];
  adopt(static_cast<int>(number), facts, flags, "");
  if (!compose(made.path, sizeof made.path, directory_of(directory), path)) made.path[0] = 0;
  return number;
}

constexpr unsigned kSlowOpens = 6; // three, beside few quick ones: a copy that did not run for a moment was slow, too

/// Time, in ns.
uint64_t now() {
  constexpr long kMonotonic = 1;
  uint64_t time[2];
  call(__NR_clock_gettime, kMonotonic, time);
  return time[0] * 1000000000 + time[1];
}

/// Some file systems ask a server at each open, whatever of the name is in memory.
void note_open(uint64_t begin) {
  constexpr uint64_t kQuickOpen = 300000; // ns
  if (now() - begin > kQuickOpen) state.slow_opens += 2;
  else if (state.slow_opens) state.slow_opens--;
}

/// A regular file that is not opened. `facts`: its own, or nullptr where only its number is known.
long guess_file(int directory, const char *path, int flags, uint64_t inode, const Stat *facts) {
  const long guess = take(Kind::kGuess, flags);
  if (guess < 0) return guess;
  Descriptor &made = state.table[guess];
  made.known = facts != nullptr;
  made.device = facts ? facts->device : 0;
  made.inode = inode;
  made.size = facts ? facts->size : static_cast<int64_t>(kGuessedSize);
  compose(made.path, sizeof made.path, directory_of(directory), path);
  state.channel->guesses++;
  if (!facts) give_hint(HintKind::kOpen, made.path, device_of(directory), inode, 0, kGuessedSize);
  return guess;
}

/// Whether that name is the file's own, which can be opened again by it, and no link to it.
bool is_itself(int directory, const char *path, const Stat &file) {
  Stat own;
  char full[sizeof Descriptor::path];
  return compose(full, sizeof full, directory_of(directory), path) &&
         call(__NR_newfstatat, directory, path, &own, kAtNoFollow) == 0 && own.inode == file.inode && own.device == file.device;
}

/// Opens what may be anything: looks first.
long open_unknown(int directory, const char *path, int flags) {
  const uint64_t kept = static_cast<uint64_t>(flags) & (kNoFollow | kCloseOnExec);
  if (flags & kDirectoryOnly) return adopt_opened(open_how(directory, path, kept | kDirectoryOnly, 0), directory, path, flags);
  const long look = open_how(directory, path, kept | kPathOnly, 0);
  if (look < 0) return look;
  Stat facts;
  const bool failed = call(__NR_fstat, look, &facts) != 0;
  const unsigned type = facts.mode & kTypeMask;
  if (failed || (type != kTypeRegular && type != kTypeDirectory) || is_special(look)) {
    call(__NR_close, look);
    return -kNoEntry;
  }
  if (type == kTypeRegular && state.slow_opens >= kSlowOpens && (flags & kAccessMode) == kReadOnly &&
      is_itself(directory, path, facts)) {
    call(__NR_close, look);
    return guess_file(directory, path, flags, facts.inode, &facts);
  }
  char again[40];
  self_path(again, look);
  const uint64_t begin = now();
  const long number = open_how(kAtCwd, again, kept & ~static_cast<uint64_t>(kNoFollow), 0);
  if (type == kTypeRegular && number >= 0) note_open(begin);
  if (number >= 0) call(__NR_dup3, number, look, flags & kCloseOnExec ? kCloseOnExec : 0); // programs expect the lowest number
  if (number >= 0) call(__NR_close, number);
  else call(__NR_close, look);
  return number < 0 ? number : adopt_opened(look, directory, path, flags);
}

/// The facts of a regular file, of which memory has them.
bool cached_facts(int directory, const char *path, Stat *to) {
  const long look = open_how(directory, path, kPathOnly | kNoFollow | kCloseOnExec, kResolveCached);
  if (look < 0) return false;
  const bool known = call(__NR_fstat, look, to) == 0 && (to->mode & kTypeMask) == kTypeRegular;
  call(__NR_close, look);
  return known;
}

/// A name that a directory listed as a regular file: opened at once if that asks nobody, else guessed.
long open_known(int directory, const char *path, int flags, uint64_t inode) {
  const uint64_t kept = static_cast<uint64_t>(flags & kCloseOnExec) | kNoFollow | kNonBlock;
  if (state.slow_opens < kSlowOpens) {
    const uint64_t begin = now();
    const long number = open_how(directory, path, kept, kResolveCached);
    if (number >= 0) note_open(begin);
    if (number != -kAgain) return adopt_opened(number, directory, path, flags);
  }
  Stat facts;
  const bool known = cached_facts(directory, path, &facts);
  return guess_file(directory, path, flags, inode, known ? &facts : nullptr);
}

/// Whether nothing is in memory of a name: to open it would have to wait.
bool is_unknown(int directory, const char *path) {
  const long look = open_how(directory, path, kPathOnly | kNoFollow | kCloseOnExec, kResolveCached);
  if (look >= 0) call(__NR_close, look);
  return look == -kAgain;
}

/// A file that the copy seems to have created.
long take_created(int directory, const char *path, int flags) {
  const long number = take(Kind::kSink, flags);
  char known[kPathBytes];
  if (!compose(known, sizeof Descriptor::path, directory_of(directory), path)) known[0] = 0;
  if (number >= 0) create_file(static_cast<int>(number), known, flags & kTruncate || (flags & kTemporary) == kTemporary);
  return number;
}

} // namespace

void adopt(int number, const Stat &facts, int flags, const char *path) {
  Descriptor &made = state.table[number];
  made.kind = (facts.mode & kTypeMask) == kTypeDirectory ? Kind::kDirectory : Kind::kRegular;
  made.whole = made.read = made.known = false;
  made.flags = static_cast<uint32_t>(flags);
  made.device = facts.device;
  made.inode = facts.inode;
  made.size = facts.size;
  made.position = made.hinted = 0;
  compose(made.path, sizeof made.path, "", path);
}

long open_file(int directory, const char *path, int flags) {
  const int mode = flags & kAccessMode;
  if (is_same(path, "/dev/null")) return take(Kind::kNull, flags);
  if (begins_with(path, "/proc/") || begins_with(path, "/sys/") || begins_with(path, "/dev/")) return -kNoEntry;
  if (mode == kWriteOnly || flags & kTruncate || (flags & kTemporary) == kTemporary ||
      (flags & (kCreate | kExclusive)) == (kCreate | kExclusive))
    return take_created(directory, path, flags);
  uint64_t inode = 0;
  char known[kPathBytes];
  const bool composed = compose(known, sizeof Descriptor::path, directory_of(directory), path);
  if (composed && created_file(known)) return take_created(directory, path, flags);
  if (composed && mode == kReadOnly && !(flags & (kDirectoryOnly | kPathOnly))) {
    bool regular = is_known_regular(known, &inode);
    if (!regular && is_unknown(directory, path)) regular = learn_names(known) && is_known_regular(known, &inode);
    if (regular) return open_known(directory, path, flags, inode);
  }
  const long number = open_unknown(directory, path, flags);
  return number == -kNoEntry && flags & kCreate ? take_created(directory, path, flags) : number;
}

long take_other(int flags) { return take(Kind::kOther, flags); }

bool make_real(int number) {
  Descriptor &guess = state.table[number];
  const int flags = static_cast<int>(guess.flags);
  char path[sizeof guess.path];
  memcpy(path, guess.path, sizeof path);
  const int64_t position = guess.position;
  const long real = open_how(kAtCwd, path, kNoFollow | kNonBlock, 0);
  Stat facts;
  if (real < 0) return false;
  const bool regular = call(__NR_fstat, real, &facts) == 0 && (facts.mode & kTypeMask) == kTypeRegular;
  if (regular) call(__NR_dup3, real, number, flags & kCloseOnExec);
  call(__NR_close, real);
  if (!regular) return false;
  adopt(number, facts, flags, path);
  guess.position = position;
  return true;
}

long close_file(int number) {
  if (!descriptor(number)) return -kBadDescriptor;
  state.table[number].kind = Kind::kClosed;
  return call(__NR_close, number);
}

long duplicate(int from, int to, int flags) {
  if (!descriptor(from)) return -kBadDescriptor;
  if (to >= kTable) end(Ended::kDescriptors, to);
  const long number = to < 0 ? call(__NR_fcntl, from, kDuplicate, 0L) : from == to ? to : call(__NR_dup3, from, to, flags);
  if (number < 0 || number == from) return number;
  if (number >= kTable) end(Ended::kDescriptors, number);
  state.table[number] = state.table[from];
  return number;
}

long control_file(int number, int command, long argument) {
  const Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  if (command == kGetFlags) return static_cast<long>(file->flags & ~static_cast<uint32_t>(kCloseOnExec));
  if (command == kGetDescriptorFlags || command == kSetDescriptorFlags) return call(__NR_fcntl, number, command, argument);
  if (command != kDuplicate && command != kDuplicateClosing) return 0; // locks, leases, signals: they seem to succeed
  const long made = call(__NR_fcntl, number, command, argument);
  if (made < 0) return made;
  if (made >= kTable) end(Ended::kDescriptors, made);
  state.table[made] = *file;
  return made;
}

long list_directory(int number, char *to, long capacity) {
  const Descriptor *const directory = descriptor(number);
  if (!directory) return -kBadDescriptor;
  if (directory->kind != Kind::kDirectory) return -kNotDirectory;
  const long bytes = call(__NR_getdents64, number, to, capacity);
  char path[kPathBytes];
  for (long at = 0; at < bytes;) {
    const Entry &entry = *reinterpret_cast<const Entry *>(to + at);
    at += entry.length;
    if (entry.type != kEntryRegular && (entry.type != kEntryDirectory || entry.name[0] == '.')) continue;
    if (!compose(path, sizeof path, directory->path, entry.name)) continue;
    if (entry.type == kEntryRegular) remember_name(path, entry.inode);
    else give_hint(HintKind::kDirectory, path, directory->device, entry.inode, 0, 0);
  }
  return bytes;
}

long change_directory(const char *path, int number) {
  const long result = path ? call(__NR_chdir, path) : call(__NR_fchdir, number);
  if (result == 0 && call(__NR_getcwd, state.directory, sizeof state.directory) < 0) state.directory[0] = 0;
  return result;
}

/// It seems to have been made, and is there when the program looks, as one that copies a tree does before it goes on.
long make_directory(int directory, const char *path) {
  char full[kPathBytes];
  if (compose(full, sizeof full, directory_of(directory), path)) remember_made(full);
  return 0;
}

} // namespace pagecast::speculate
