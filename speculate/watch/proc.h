// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What /proc says about processes, read without allocation.
#pragma once
#include <cstdint>
#include <sys/types.h>

namespace pagecast::speculate {

/// Reads a file up to `capacity` - 1 bytes and ends them with a zero. Returns how many, 0 on failure.
unsigned read_whole(const char *path, char *to, unsigned capacity);

/// The number behind `name` and the separator in a text of such lines; `missing` when there is none.
uint64_t field(const char *text, const char *name, uint64_t missing, char separator = ':');

/// A file that is read from its beginning again and again, and so stays open. Whoever has it closes it; copies of it are the same file.
class KeptFile {
public:
  bool open(const char *path);
  void close();
  bool is_open() const { return file_ >= 0; }
  /// Reads up to `capacity` - 1 bytes by one call, which files of /proc give at once, and ends them with a zero. Returns how many, 0 on failure.
  unsigned read(char *to, unsigned capacity) const;

private:
  int file_ = -1;
};

/// A thread seen at one moment.
struct Look {
  bool alive = false;
  char state = '?'; ///< as in /proc/PID/stat: R, S, D, T, Z
  uint64_t runs = 0; ///< how often it got a processor: the same number twice is the same wait
  uint64_t ran = 0; ///< ns of processor time
};

/// The call that a thread waits in.
struct Call {
  bool known = false;
  long number = -1; ///< -1: it waits, but not in a call: a page fault
  uint64_t argument[6] = {};
  bool is_fault() const { return known && number < 0; }
};

/// A thread that is looked at again and again: its files in /proc stay open.
class Thread {
public:
  bool open(pid_t process, pid_t thread);
  void close();
  Look look() const;
  /// The same, `passed` ns after `last`. A thread that has had a processor for nearly all of that time is taken to have it
  /// still, and its state is not asked for: that spares a third of what a look costs.
  Look look(const Look &last, uint64_t passed) const;
  Call call() const;
  /// It is gone or about to be, with its process or by itself.
  bool is_ending() const;
  /// It is the kernel's, and carries out what the process asks of an io_uring. It has no memory of a program's thread to be copied.
  bool works_for_ring() const;
  /// Calls by which it has read so far, of whatever file; 0 where that is not told.
  uint64_t reads();
  pid_t process() const { return process_; }
  pid_t number() const { return thread_; }

private:
  bool read_runs(Look *to) const;

  pid_t process_ = 0, thread_ = 0;
  KeptFile stat_, runs_, call_, io_; ///< the last one from the first reads() on
};

/// Facts that decide whether a process may be copied.
struct Facts {
  bool known = false;
  uint64_t tracer = 0, filtered = 0; ///< process number of a tracer; 1 = it has a seccomp filter of its own
  uint64_t resident = 0; ///< bytes
  uint64_t pending = 0; ///< signals that wait for it
  pid_t parent = 0;
};
Facts facts_of(pid_t process, pid_t thread);

/// What a process has used so far, also after its end while nobody has reaped it.
struct Usage {
  uint64_t page_faults = 0;
  double seconds = 0; ///< of processor time
};
Usage usage_of(pid_t process);

/// Gone, or about to be: it has no memory any more.
bool is_ending(pid_t process);

/// What the processor runs: true for a 64-bit program of this machine's kind.
bool is_64_bit(pid_t process);

/// Lists the process's children, at most `capacity`.
unsigned children_of(pid_t process, pid_t *to, unsigned capacity);
/// Lists the names in a folder of /proc/PROCESS, which are numbers, as they come; at most `capacity`.
unsigned numbers_in(pid_t process, const char *folder, int *to, unsigned capacity);
/// Lists the process's threads.
unsigned threads_of(pid_t process, pid_t *to, unsigned capacity);

} // namespace pagecast::speculate
