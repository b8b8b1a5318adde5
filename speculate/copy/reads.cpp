// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads. What is in memory is given; what is not is hinted, and the read seems to have happened: the buffer keeps what
// was in it. In copies of a program whose earlier copies went astray that way, small reads are waited for.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

constexpr long kNoWait = 8; ///< RWF_NOWAIT
constexpr int kSeekSet = 0, kSeekCurrent = 1, kSeekEnd = 2;

struct CacheRange {
  uint64_t offset, length;
};
struct CacheFacts {
  uint64_t cached, dirty, written_back, evicted, recently_evicted;
};

/// Bytes that could be read without waiting, or -kAgain.
long read_cached(int number, char *to, int64_t length, int64_t offset) {
  const Vector vector = {to, static_cast<uint64_t>(length)};
  return call6(__NR_preadv2, number, (long)&vector, 1, offset, 0, kNoWait);
}

bool is_waited_for(const Descriptor &file, int64_t length, int64_t offset) {
  const uint32_t careful = __atomic_load_n(&state.channel->careful, __ATOMIC_RELAXED);
  if (careful == 0 || length > static_cast<int64_t>(kSmallRead)) return false;
  return careful > 1 || (offset == 0 && !file.read);
}

long read_regular(Descriptor &file, int number, char *to, int64_t length, int64_t offset) {
  Channel &channel = *state.channel;
  long got = read_cached(number, to, length, offset);
  if (got >= 0 && (got == length || offset + got >= file.size)) {
    channel.answered_reads++;
    file.read = true;
    return got;
  }
  if (got < 0 && got != -kAgain && got != -kNotSupported) return got;
  const bool begun = got == -kAgain; // then the kernel has begun to read it
  if (got < 0) got = 0;
  const bool waited = is_waited_for(file, length, offset);
  file.read = true;
  if (waited) {
    channel.waited_reads++;
    return call(__NR_pread64, number, to, length, offset);
  }
  const int64_t left = file.size - offset - got;
  if (left <= 0) return got;
  const int64_t missing = length - got < left ? length - got : left;
  hint_read(file, offset + got, missing, begun);
  return got + missing;
}

long read_guess(Descriptor &file, int number, char *to, int64_t length, int64_t offset) {
  if (is_waited_for(file, length, offset)) {
    if (!make_real(number)) return -kNoEntry;
    return read_regular(state.table[number], number, to, length, offset);
  }
  file.read = true;
  const int64_t left = offset < file.size ? file.size - offset : 0;
  const int64_t given = length < left ? length : left;
  if (given && file.known) hint_read(file, offset, given, false); // all of the others was hinted when they were opened
  else if (given) state.channel->hinted_reads++;
  return given;
}

/// Reads a file that the copy has written to: what is on the disk, with what was written over it.
long read_written(Descriptor &file, const Written &written, int number, char *to, int64_t length, int64_t offset) {
  file.size = written.size;
  const int64_t left = written.size - offset, most = length < left ? length : left;
  if (most <= 0) return 0;
  long got = 0;
  if (file.kind == Kind::kRegular) got = read_regular(file, number, to, most, offset);
  if (got < 0) return got;
  if (got < most) memset(to + got, 0, static_cast<unsigned long>(most - got));
  read_back(written, offset, to, most);
  return most;
}

} // namespace

long read_file(int number, char *to, int64_t length, int64_t offset) {
  Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  state.channel->reads++;
  const bool moves = offset < 0;
  if (moves) offset = file->position;
  if (length < 0) return -kInvalid;
  wait_for_original();
  long got = 0;
  const Written *const written = state.written ? written_file(file->device, file->inode) : nullptr;
  if (written && (file->kind == Kind::kRegular || file->kind == Kind::kSink)) {
    got = read_written(*file, *written, number, to, length, offset);
    if (got <= 0) return got;
    if (moves) file->position = offset + got;
    return got;
  }
  switch (file->kind) {
  case Kind::kRegular: got = read_regular(*file, number, to, length, offset); break;
  case Kind::kGuess: got = read_guess(*file, number, to, length, offset); break;
  case Kind::kNull: break;
  case Kind::kDirectory: return -kIsDirectory;
  case Kind::kSink: end(Ended::kWritten, __NR_read);
  default: end(Ended::kUnreadable, __NR_read);
  }
  if (got <= 0) return got;
  if (moves) state.table[number].position = offset + got;
  state.channel->position += static_cast<uint64_t>(got);
  return got;
}

long read_vectors(int number, const Vector *vectors, long count, int64_t offset) {
  long total = 0;
  for (long i = 0; i < count; i++) {
    const int64_t length = static_cast<int64_t>(vectors[i].length);
    if (length == 0) continue;
    const long got = read_file(number, vectors[i].base, length, offset < 0 ? offset : offset + total);
    if (got < 0) return total ? total : got;
    total += got;
    if (got < length) break;
  }
  return total;
}

long pass_through(int number, int64_t *offset, int64_t length) {
  Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  const bool guessed = file->kind == Kind::kGuess;
  if (!guessed && file->kind != Kind::kRegular) end(Ended::kUnreadable, __NR_sendfile);
  int64_t &at = offset ? *offset : file->position;
  const int64_t left = file->size - at;
  if (left <= 0) return 0;
  const int64_t passed = length < left ? length : left;
  refuse_written(*file);
  state.channel->reads++;
  wait_for_original();
  const int64_t most = static_cast<int64_t>(4 * kSmallFile);
  if (!guessed || file->known) hint_read(*file, at, passed < most ? passed : most, false);
  else state.channel->hinted_reads++; // all of it was hinted when it was opened
  at += passed;
  state.channel->position += static_cast<uint64_t>(passed);
  return passed;
}

long seek_file(int number, int64_t offset, int whence) {
  Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  if (file->kind == Kind::kDirectory) return call(__NR_lseek, number, offset, whence);
  if (file->kind == Kind::kNull) return 0;
  if (file->kind == Kind::kOther) return -kIllegalSeek;
  if (whence > kSeekEnd) { // holes: their positions are the file's, whatever the kernel's own position is
    if (file->kind == Kind::kGuess && !make_real(number)) return -kNoEntry;
    if (file->kind != Kind::kRegular) end(Ended::kWritten, __NR_lseek);
    offset = call(__NR_lseek, number, offset, whence);
  } else if (whence == kSeekCurrent) offset += file->position;
  else if (whence == kSeekEnd) {
    if (file->kind == Kind::kGuess && !make_real(number)) return -kNoEntry;
    offset += file->size;
  } else if (whence != kSeekSet) return -kInvalid;
  if (offset < 0) return whence > kSeekEnd ? offset : -kInvalid;
  return file->position = offset;
}

namespace {

constexpr long kReadable = 1;

/// A program or a library, as far as that can be told without waiting. Objects are not: a linker reads them.
bool is_program(int number) {
  struct {
    uint8_t magic[16];
    uint16_t type;
  } head = {};
  constexpr uint16_t kExecutable = 2, kLibrary = 3;
  if (read_cached(number, reinterpret_cast<char *>(&head), sizeof head, 0) != sizeof head) return false;
  const bool elf = head.magic[0] == 0x7f && head.magic[1] == 'E' && head.magic[2] == 'L' && head.magic[3] == 'F';
  return elf && (head.type == kExecutable || head.type == kLibrary);
}

} // namespace

long map_file(long address, long length, long protection, long flags, int number, long offset) {
  constexpr long kShared = 1, kPrivate = 2, kTypes = 15, kAnonymous = 32;
  flags = (flags & ~kTypes) | kPrivate;
  (void)kShared;
  if (flags & kAnonymous) return call6(__NR_mmap, address, length, protection, flags, -1, 0);
  Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  if (file->kind == Kind::kGuess && !make_real(number)) return -kNoEntry;
  if (file->kind != Kind::kRegular) end(Ended::kWritten, __NR_mmap);
  refuse_written(*file);
  const bool is_input = protection == kReadable && static_cast<uint64_t>(length) >= kLeastMapped && !is_program(number);
  const int64_t small = static_cast<int64_t>(kSmallFile), most = 4 * small;
  if (!is_input || file->size <= small) hint_read(*file, offset, length < most ? length : most, false);
  const long made = call6(__NR_mmap, address, length, protection, flags, number, offset);
  if (made < 0 || !is_input) return made;
  const uint64_t begin = static_cast<uint64_t>(made), end = (begin + static_cast<uint64_t>(length) + 4095) & ~uint64_t{4095};
  Mapped map = {begin, end, static_cast<uint64_t>(offset), file->device, file->inode, false, {}};
  memcpy(map.path, file->path, sizeof file->path);
  look_after(map);
  return made;
}

} // namespace pagecast::speculate
