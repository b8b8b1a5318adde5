// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copy's own code knows. The copy has one thread, and this code runs in its handler of SIGSYS.
//
// Position of a regular file: kept here, not in the kernel, so that a file that is only guessed can have one. Of a
// directory: the kernel's, of a descriptor that is the copy's own.
#pragma once
#include "speculate/copy/system.h"
#include "speculate/shared/channel.h"

#pragma GCC visibility push(hidden)

namespace pagecast::speculate {

inline constexpr int kTable = 1024;      ///< descriptors above are not the copy's to use
inline constexpr unsigned kWritten = 1024; ///< files

enum class Kind : uint8_t {
  kClosed,
  kOther,     ///< stands for a pipe, a socket, a terminal: writes vanish, a read ends the copy
  kNull,      ///< /dev/null, for the program, too
  kRegular,
  kDirectory,
  kGuess,     ///< a regular file that is being looked up in the background
  kSink,      ///< a file that the copy seems to have created
};

struct Descriptor {
  Kind kind;
  bool whole;        ///< hinted as a whole
  bool read;         ///< has been read from
  bool known;        ///< of a guess: its size is that of the file
  uint32_t flags;    ///< as opened by the program
  uint64_t device, inode;
  int64_t size, position;
  int64_t hinted;    ///< bytes before it are hinted, back to where a sequence began
  char path[232];    ///< absolute, or empty: then it cannot be hinted by the prefetcher
};

/// A file that the copy seems to have written to.
struct Written {
  uint64_t device, inode;  ///< device kMadeUp: the copy seems to have created it
  int64_t size;            ///< as it would be
  int64_t lost, lost_end;  ///< bytes that there was no room for
  uint64_t name;           ///< hash of the path of one that was created; 0 = none
};
inline constexpr uint64_t kMadeUp = ~uint64_t{0};

/// A mapping of a file that is looked after (mapped.cpp).
struct Mapped {
  uint64_t begin, end, offset; ///< addresses; the file's offset at `begin`
  uint64_t device, inode;
  bool touched;
  char path[256];
};

struct State {
  Channel *channel;
  int null; ///< the copy's descriptor of /dev/null
  unsigned
      slow_opens; ///< two for each, less the quick ones: where a server is asked at each open, the copy could not get ahead by it
  unsigned written;
  Written files[kWritten];
  uint64_t missed; ///< hash of the directory of the last name that nothing was in memory of
  char directory[256]; ///< the working directory
  Descriptor table[kTable];
  unsigned mapped;
  Mapped maps[kMaxMapped];
  uint64_t fault_action[4]; ///< the program's action for SIGSEGV, as of rt_sigaction: handler first
};

extern State state;

/// The descriptor, or nullptr when the program has none of that number.
inline Descriptor *descriptor(int number) {
  if (number < 0 || number >= kTable || state.table[number].kind == Kind::kClosed) return nullptr;
  return &state.table[number];
}

[[noreturn]] void end(Ended why, long number);

// hints.cpp
/// Writes `directory`/`name` into `to`, without "." and double slashes. False: it is too long, or the directory's path is
/// not known.
bool compose(char *to, unsigned capacity, const char *directory, const char *name);
/// The path of the directory that names are relative to; empty = not known.
const char *directory_of(int number);
void give_hint(HintKind kind, const char *path, uint64_t device, uint64_t inode, uint64_t offset, uint64_t length,
               bool begun = false);
/// The device of that directory; 0 = not known.
uint64_t device_of(int number);
/// The program would have read this and it is not in memory. `begun`: the kernel has been asked for it.
void hint_read(Descriptor &file, int64_t offset, int64_t length, bool begun);
/// Sleeps while the copy is too far ahead of the original.
void wait_for_original();

// names.cpp: what directories have listed
void remember_name(const char *path, uint64_t inode);
/// Is it a regular file? Its number as the directory tells it.
bool is_known_regular(const char *path, uint64_t *inode);
/// Nothing is in memory of the last of the path's names. True: its directory has been listed for that, which tells of the others, too.
bool learn_names(const char *path);
/// A directory that the copy seems to have made.
void remember_made(const char *path);
bool is_made(const char *path);

// opens.cpp
long open_file(int directory, const char *path, int flags);
/// A descriptor of something that is no file; `flags` as of open().
long take_other(int flags);
/// Makes a guessed file a real one, however long that takes. False: there is none.
bool make_real(int number);
void adopt(int number, const Stat &facts, int flags, const char *path);
long close_file(int number);
long duplicate(int from, int to, int flags);
long control_file(int number, int command, long argument);
long list_directory(int number, char *to, long capacity);
long change_directory(const char *path, int number);
long make_directory(int directory, const char *path);

// reads.cpp
long read_file(int number, char *to, int64_t length, int64_t offset); ///< offset -1: at the file's position
long read_vectors(int number, const Vector *vectors, long count, int64_t offset);
long pass_through(int number, int64_t *offset, int64_t length); ///< sendfile and the like: reads to nowhere
long seek_file(int number, int64_t offset, int whence);
long map_file(long address, long length, long protection, long flags, int number, long offset);

// mapped.cpp
/// Makes a mapping unreadable, so that what the program reads of it is seen.
void look_after(const Mapped &map);
/// A call that is not made would have read this memory.
void touch_all(const char *from, int64_t length);
/// rt_sigaction of SIGSEGV.
long change_action(int number, const uint64_t *fresh, uint64_t *old, long mask_bytes);

// overlay.cpp
Written *written_file(uint64_t device, uint64_t inode);
/// `size` is that of the file before. Ends the copy when there are too many.
Written *begin_written(uint64_t device, uint64_t inode, int64_t size);
void empty_written(Written &file);
void keep_written(Written &file, int64_t at, const char *from, int64_t length);
/// Puts what was written over what was read. Ends the copy if that was not kept.
void read_back(const Written &file, int64_t at, char *to, int64_t length);

// writes.cpp
long write_file(int number, const char *from, int64_t length, int64_t offset);
long write_vectors(int number, const Vector *vectors, long count, int64_t offset);
/// Ends the copy if this has been written to: it cannot be read back by a mapping, or by a call that passes data on.
void refuse_written(const Descriptor &file);
/// A file that the copy seems to have created under this path.
Written *created_file(const char *path);
/// The descriptor becomes one of such a file; `truncated`: an empty one.
void create_file(int number, const char *path, bool truncated);

// stats.cpp
long stat_path(int directory, const char *path, Stat *to, int flags);
long stat_descriptor(int number, Stat *to);
long statx_path(int directory, const char *path, int flags, unsigned mask, void *to);

} // namespace pagecast::speculate
#pragma GCC visibility pop
