// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that the runtime asks of the operating system, but for io_uring (disk.h). Functions return
// 0 or a count, or -errno; none prints, throws or allocates from the heap.
// What follows is in os_linux.cpp; page faults are in userfaultfd_linux.cpp, memory limits in limits_linux.cpp, and threads and
// wake-ups in os_threads_linux.cpp.
#pragma once
#include "core/memory/file_reads.h"
#include "core/memory/limit.h"

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace pagecast::os {

/// What this kernel allows, found out once by find_support().
struct Support {
  bool userfaultfd = false;     ///< missing and write-protect faults on anonymous memory, kernel mode included
  bool batch_discard = false;   ///< process_madvise(MADV_DONTNEED) on oneself
  int userfaultfd_error = 0;    ///< errno of what failed
  const char *missing = nullptr;///< sentence: what lacks and what to do; NULL if nothing does
};
Support find_support();

uint64_t page_size();
/// Where the page begins that the address is in, and where the first one does that begins there or behind it. So are bytes rounded.
inline uint64_t page_down(uint64_t address) { return address & ~(page_size() - 1); }
inline uint64_t page_up(uint64_t address) { return page_down(address + page_size() - 1); }
unsigned page_shift();
uint64_t now_ns();
/// By the clock of the wall, ns since 1970.
uint64_t wall_ns();
/// CPU time of the calling thread.
uint64_t thread_cpu_ns();
/// The same of another thread of this process; 0: there is none of that number.
uint64_t cpu_ns_of(uint64_t thread);
uint64_t process_cpu_ns();
/// Whether the kernel may lock so much memory for us without taking it from what the program, and others of its user, may
/// have locked themselves (RLIMIT_MEMLOCK): an eighth at most, but for those who have no limit.
bool may_lock(uint64_t bytes);

/// Zeroed address space without memory behind it until touched, and then page by page: where the machine gives large pages to all,
/// each table of which little is used would take 2 MiB. NULL on failure.
void *reserve(size_t bytes);
/// The same for data of the program, which gets large pages where it would by itself.
void *reserve_for_program(size_t bytes);
/// Zeroed private memory. `populate`: at once. NULL on failure.
void *map_memory(size_t bytes, bool populate);
int unmap(void *addr, size_t bytes);
/// Zeroed private memory for a region that is filled later; `at` with `fixed`: in the place of what is there. Address or -errno.
int64_t map_for_region(void *at, bool fixed, size_t bytes, bool readable, bool writable);
/// Gives back the memory of private pages that hold nothing but zeros, which they keep holding; none in a sandbox.
/// Cost: 0.1 us a page.
void give_back_zeros(void *addr, size_t bytes);
/// Private memory that is there at once, in pages of `kLargePage` bytes where the kernel has them: a device then transfers to
/// few places. Measured on a virtual disk, requests of 512 KiB, eight at a time: 3.5 GB/s, with pages of 4 KiB 1.4 to 1.9.
/// NULL on failure; unmap() takes it apart.
void *map_buffer(size_t bytes);
/// Gives the memory of such a buffer back; what is touched of it comes page by page then.
void empty_buffer(void *buffer, size_t bytes);
/// Has [used, bytes) of it there at once; `large`: in pages as map_buffer() has them. What was in [0, used) stays.
void fill_buffer(void *buffer, size_t used, size_t bytes, bool large);
inline constexpr size_t kLargePage = 2u << 20;

// --- userfaultfd ---------------------------------------------------------------------------------

struct Fault {
  uint64_t address; ///< of the page
  uint64_t place; ///< exactly, where the kernel tells that (Linux 5.18); else the page's
  bool write;
  bool protect; ///< a store to a write-protected page
  uint64_t thread; ///< its number (thread_id()); 0 where the kernel does not tell
};

/// Non-blocking descriptor, or -errno.
int fault_open();
/// Watches anonymous private [addr, addr+bytes): page-aligned. -EINVAL: not such memory.
int fault_watch(int fd, uint64_t addr, uint64_t bytes);
int fault_unwatch(int fd, uint64_t addr, uint64_t bytes);
/// Up to `most` faults that wait; 0 = none now.
int fault_read(int fd, Fault *faults, unsigned most);
/// Installs copies of `source` at `addr`, waking who waits. The range may consist of several of the kernel's
/// mappings (mprotect splits them). Returns the bytes installed from its beginning on, or -errno if the first page
/// cannot be: -EEXIST: something is there already; -ENOENT: that page is no longer watched.
int64_t fault_copy(int fd, uint64_t addr, const void *source, uint64_t bytes, bool protect);
/// Write-protects resident pages, or lifts it (and wakes). Does what it can; -errno if some pages cannot be:
/// -ENOENT: they are no longer watched.
int fault_protect(int fd, uint64_t addr, uint64_t bytes, bool protect);
/// Touching the absent pages gives SIGBUS from now on, in a system call EFAULT: their contents cannot be read. Wakes who
/// waits. Before Linux 6.6 the range becomes another mapping.
int fault_poison(int fd, uint64_t addr, uint64_t bytes);
/// How fault_poison does it where the kernel cannot: a private mapping of a file without contents, which is not watched.
int fault_poison_by_mapping(int fd, uint64_t addr, uint64_t bytes);
/// Makes poisoned pages absent, and watched, again.
int fault_heal(int fd, uint64_t addr, uint64_t bytes);
int fault_wake(int fd, uint64_t addr, uint64_t bytes);

/// Drops the contents of page-aligned anonymous ranges, locked ones too. Does what it can; 0 or -errno.
int discard(const iovec *ranges, unsigned count);

/// Whether children made by fork get the range. A child without a pager of its own must not: its absent pages would
/// read as zero there.
int give_to_children(uint64_t addr, uint64_t bytes, bool give);
/// In the child of a fork: lets go of what this file holds of the parent.
void forked();
/// This process has forked. has_forked(): that, or it was forked.
void note_fork();
bool has_forked();

/// Copies this process's own memory; false where some of it is not there. Never faults.
bool copy_memory(void *to, uint64_t from, size_t bytes);
/// As copy_memory(), of up to kCopied parts at a time: part i to as many bytes at to[i]. The pager's thread, which may not ask
/// for absent pages of regions. Cost: 0.5 us, and 0.05 us for each part where 128 KiB hold them all, else 0.5 us.
bool copy_parts(const iovec *to, const iovec *from, unsigned parts);
inline constexpr unsigned kCopied = 256;
/// Copies this process's own memory whatever its protection. Absent pages of regions must not be asked for by the
/// pager: it would wait for itself. 0 or -errno.
int copy_protected_memory(void *to, uint64_t from, size_t bytes);
/// Stores to this process's memory, regions included, where it may be stored to. Returns how many of the first bytes were
/// stored; never raises a signal.
size_t store_memory(uint64_t to, const void *from, size_t bytes);

/// For each page of [addr, addr+bytes): out[i] = 1 if it has contents (present or swapped), 0 if not.
int populated(uint64_t addr, uint64_t pages, uint8_t *out);
/// Bytes of [addr, addr + bytes), pages of anonymous memory, that are in memory; 0 where nothing is mapped. Cost: 2 ns a page,
/// less where pages are large.
uint64_t bytes_in_memory(uint64_t addr, uint64_t bytes);
/// For each page: out[i] = 1 if it is this process's alone, 0 if another may have it since a fork, or if it is not there.
int exclusive(uint64_t addr, uint64_t pages, uint8_t *out);
/// For each page: out[i] = 1 if it is write-protected by fault_protect or fault_copy, 0 if not. Linux 5.13.
int write_protected(uint64_t addr, uint64_t pages, uint8_t *out);
/// For each page: out[i] = 1 if it is in this process's page table. Any thread.
int in_page_table(uint64_t addr, uint64_t pages, uint8_t *out);
/// Whether this process has touched the page of a file since it came to memory: its page table has it. Cost: 0.5 us.
bool touched(uint64_t addr);
/// How many pages from number `from` on are alike, by what these, or in_core(), have told of `pages` of them.
inline uint64_t alike(const uint8_t *told, uint64_t from, uint64_t pages) {
  uint64_t n = 1;
  while (from + n < pages && told[from + n] == told[from]) ++n;
  return n;
}

// --- memory limits -------------------------------------------------------------------------------

/// The memory that this process shares with others: the machine's, and that of the control groups that it is in.
class MemoryWatch {
public:
  /// Opens the files, which stay open. What is not there is left out. `event`, if there is one, is posted when use passes
  /// alarms where little is left of a group of version 1: the first look sets them, in 10 to 30 ms, with privilege. Both events
  /// are posted when memory of such a group was wanted that it does not have, as by who lowers its limit below the use.
  void open(int event = -1, int refused = -1);
  /// The same for one look, which costs half: of groups without a limit nothing more is opened than what says so. For every process that
  /// is started there is a look.
  void open_for_a_look();
  /// Finds out Pool::read_ahead, for who knows what files are read. Before there are regions: it prints to buffers. Cost: 10 us a device.
  void mind_files();
  void close();
  /// How things stand. `pools`: room for core::kMostPools. Returns how many there are, in an order that stays.
  /// `files_read`: core::Pool's; the caller's to know, as is whether the program maps files beside its code. Any thread, one at a time.
  unsigned look(core::Pool *pools, uint64_t files_read = 0, bool maps_files = true);
  /// Whether, at the last look, files were being read in a group where others hold memory that could be put on swap for them.
  bool beside_others() const { return beside_others_; }
  /// Whether the machine had swap then, without which there is none of that.
  bool has_swap() const { return swaps_; }
  /// A process of ours and its sockets hold memory of the groups, too, which comes and goes: they count as shared with others.
  void expect_helpers() { helped_ = true; }
  bool has_helpers() const { return helped_; }
  /// Pool::read_ahead, bytes.
  uint64_t read_ahead() const { return read_ahead_; }
  /// Whether a group has another limit than at the last look: of those without one, another one is asked each time. Or somebody
  /// fills it: less is left than half of its reserve. Cost: 2 us for each group with a limit, and 1 us.
  bool moved();
  /// In the child of a fork: the event is the parent's.
  void forked();

private:
  static constexpr unsigned kMostGroups = core::kMostPools - 1;
  static constexpr unsigned kMostAlarmSettings = 16;
  /// Descriptors, -1 if there is no such file.
  struct Group {
    int limit = -1, high = -1, usage = -1, stat = -1, pressure = -1, control = -1, swap = -1, hits = -1;
    uint64_t seen_limit = 0, alarm_limit = 0; ///< at the last look; for which the alarms are
    uint64_t seen_filled = 0; ///< use that leaves half of the reserve, by what could be had at the last look; 0: that was less
    unsigned alarm_settings = 0;
    bool tells = false;
  };
  void open_files(int event, int refused, bool for_a_look);
  static uint64_t limit_of(const Group &);
  static bool is_filled(const Group &);
  bool may_swap_others(const Group &, uint64_t limit, const char *stat) const;
  void set_alarms(Group &, uint64_t limit);
  void watch_refusals(const Group &, const char *directory);
  int meminfo_ = -1, pressure_ = -1, statm_ = -1, io_ = -1, event_ = -1;
  int refused_ = -1; ///< counts what the event is posted for when memory cannot be had
  uint64_t refusals_ = 0;
  uint64_t read_ahead_ = 0; ///< bytes, the largest of all devices; 0: nobody minds
  Group group_[kMostGroups];
  unsigned groups_ = 0, next_asked_ = 0;
  core::FaultReads fault_reads_;
  bool v2_ = false, beside_others_ = false, helped_ = false, swaps_ = false;
};

/// Has the kernel read no more than a piece of a program's or library's code for a page of it that is missing, until the process ends.
/// Else it reads as far ahead as it does in files, 8 MiB on some machines, and in little memory each such read pushes out what the
/// one before was for. Linux from 6.16 on reads ahead in code whatever it is advised, but not beyond the mapping: so mappings are
/// split, by advice that differs from piece to piece. What lies beside code in its file, and what older kernels read, is a
/// page alone. Returns the mappings that were split. Cost: 0.3 us for each mapping of the process, and 2 us a piece.
unsigned read_code_in_pieces();
inline constexpr uint64_t kCodePiece = 128u << 10; ///< bytes, as Linux usually reads ahead

/// The processors that this process shares with others.
class Processors {
public:
  /// Opens the kernel's count of threads, which stays open.
  void open();
  /// Those that this process may use at any time. 1 where a control group has a quota of their time, or that cannot be found out:
  /// what one thread takes, others lack then. Cost: 50 us once a second.
  unsigned usable(uint64_t now);
  /// Threads of this machine that run or want to, the caller among them; 0: not known. Cost: 3 us.
  unsigned running() const;

private:
  int running_ = -1;
  unsigned usable_ = 1;
  uint64_t counted_ns_ = 0; ///< when these were counted
};

/// Where a thread of this process runs.
class ThreadPlace {
public:
  /// The processor on which the thread runs, or ran last; -1 if that cannot be found out. Its file stays open until another is asked
  /// for. Cost: 5 us.
  int processor_of(uint64_t thread);
  /// In the child of a fork: its threads are others.
  void forked();

private:
  int stat_ = -1;
  uint64_t thread_ = 0;
};

/// Anonymous memory of this process that is resident, bytes; 0 if that cannot be found out.
uint64_t own_anonymous_bytes();
/// Processes that the calling thread has made and not waited for; 0 if that cannot be found out.
unsigned own_children();

// --- threads and wake-ups ------------------------------------------------------------------------

void sleep(uint64_t ns);
int process_id();
/// The path of the program that this process runs; "" if that cannot be found out. The same text each time.
const char *program_path();
/// Processor time of this process so far.
struct UsedTime {
  double user_s = 0, system_s = 0;
};
UsedTime used_time();
int event_open(); ///< non-blocking eventfd
/// Two ends, for either side of a fork. 0 or -errno.
int token_pair(int ends[2]);
/// All holders of the other end have closed it.
bool hung_up(int end);
/// One of them has called answer(), or all have closed it.
bool answered(int end);
void answer(int end);
void event_post(int fd);
void event_clear(int fd);
/// Waits while *word == expected; woken by futex_wake. Spurious returns are possible. In a sandbox (sandbox.h) the
/// program's threads make no call for it: they return soon, and wake nobody; ours look for themselves.
/// `most_ns`: not for longer; 0: no limit.
void futex_wait(const uint32_t *word, uint32_t expected, uint64_t most_ns = 0);
void futex_wake(const uint32_t *word);
/// Whether the calling thread is one of the runtime's.
bool is_ours();
/// Starts a detached thread that takes no signals: one that waits (park_threads()), or a new one, for which the C library asks
/// the program's heap for memory. When it wakes, it interrupts nobody who runs (the kernel's batch class), until it calls
/// be_prompt(true).
int start_thread(const char *name, void (*body)());
/// How the calling thread, which start_thread() started, wakes from now on: `prompt` as any other, in the ordinary class; else
/// without interrupting who runs. Cost: nothing where it is so already, else a system call (1 us).
void be_prompt(bool prompt);
/// From now on the calling thread, which start_thread() started, runs on that processor alone, and there only while nobody else wants
/// to: whom it wakes runs at once in its place, and need not wait for another processor to wake. False where it may not come back to
/// its class (that takes CAP_SYS_NICE), or may not run there. One thread at a time. Cost: 2 us, and 10 where it moves.
bool attend(int processor);
/// Whether a thread does.
bool attending();
/// That thread is as it was before. Any thread.
void stop_attending();
/// Has as many threads wait as may ever be started, so that starting them asks no heap for memory. Before the program's main().
void park_threads();
/// What the C library keeps of their thread-local variables in the program's heap, and looks at when it gives their stacks to
/// threads of a child of fork: entries of two words, and one before the first whose first word is their number.
unsigned thread_vectors(const uint64_t **vectors, unsigned most);
/// How many of them run in this process.
unsigned own_threads();
/// The calling thread's number; 0 if it was never asked for before the program put on a filter (sandbox.h). Cost: a load.
int thread_id();
/// Whether this process has the thread. Of 0 it cannot be told: true.
bool has_thread(int id);
/// In the child of a fork: none does.
void threads_forked();

/// The signals, as bits from signal 1 on, that this process has handlers for, but for the C library's own; all if that cannot
/// be found out.
uint64_t handled_signals();
/// The stack that the calling thread's handlers run on, where that is another one; bytes = 0: there is none, or it cannot be found
/// out.
struct HandlerStack {
  const char *base = nullptr;
  uint64_t bytes = 0;
  bool in_use = false;
};
bool handler_stack(HandlerStack *);
/// Whether the calling thread has a seccomp filter; true if that cannot be found out.
bool filtered();
/// Runs `body` in a copy of this process of which the program learns nothing. False: it cannot be had, or was killed.
bool child_survives(void (*body)());

// --- address space, past our own interposers ---------------------------------------------------------

/// mprotect, or with key >= 0 pkey_mprotect. 0 or -errno.
int protect_mapping(uint64_t addr, size_t bytes, int protection, int key);
/// Puts a mapping of the file in the place of what is there; `shared`, or with stores that stay private.
int map_file(uint64_t addr, uint64_t bytes, int protection, int fd, uint64_t offset, bool shared);
/// Puts untouched private memory in the place of what is there.
int map_zeros(uint64_t addr, uint64_t bytes, int protection);

/// mremap(MAYMOVE). NULL on failure.
void *move_mapping(void *addr, size_t bytes, size_t new_bytes);

} // namespace pagecast::os
