// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the advise back end asks of the operating system: facts about mapped files, advice about their pages, and what
// is in memory. As in os.h: 0 or a count, or -errno; nothing prints, throws or allocates.
#pragma once
#include <cstdint>
#include <sys/uio.h>

namespace pagecast::os {

/// What is known of the file behind a descriptor.
struct FileFacts {
  bool advisable = false;       ///< advice about its pages moves them: a file or a device whose data are elsewhere
  uint32_t request_bytes = 0;   ///< bytes that one MADV_WILLNEED surely reads: more is cut off silently
  uint64_t read_ahead = 0;          ///< bytes that the kernel reads ahead of a stream at most
  bool opaque = false;          ///< in_core() does not tell: the file is another user's, and may only be read
  const char *system = "";      ///< name of the file system, or of its kind
  const char *why_not = nullptr;///< sentence; NULL when advisable
};
FileFacts file_facts(int fd);

/// Whether a program serves the file (FUSE): starting I/O then sleeps while as many requests as the kernel allows it, a
/// dozen or some more, have not been answered.
bool is_served_by_program(int fd);
/// Whether the file is on a file system of which it is known that direct I/O is begun without waiting.
bool begins_at_once(int fd);

/// Starts reading the ranges into the page cache; returns when the reads are queued, which can take as long as the
/// queue of the device is full. Helper threads only. Cost: 3-5 us per cold page, 0.5 us per range that is there.
int will_need(const iovec *ranges, unsigned count);
/// Frees clean pages that only this process maps (MADV_PAGEOUT). No effect on others' pages, and none on data; nor any
/// where this process may neither own nor write the file.
int give_up(const iovec *ranges, unsigned count);
/// Takes pages out of the page table; they stay in memory. For shared mappings only: it destroys private pages. Cost: 0.1 us a page.
int take_out(const iovec *ranges, unsigned count);
/// `scattered`: a miss reads its page alone, not the device's read-ahead around it.
int expect_scattered(uint64_t addr, uint64_t bytes, bool scattered);

/// For each page of a mapping, out[i] = 1 if touching it needs no reading; of an opaque file all are. 0 or -errno. Cost: 20-60 ns a page.
int in_core(uint64_t addr, uint64_t pages, uint8_t *out);
/// Makes a page that is in memory one of those that reclaim spares: two references, and the kernel thinks it active.
/// It is mapped, too. Cost: 1 us.
void keep(uint64_t addr);

/// A second mapping of a shared mapping's pages, for reading alone and by read_large(); no child gets it. 0: it cannot be. It goes
/// by unmap() of os.h, in parts if need be. Cost: 10 us.
uint64_t map_again(uint64_t addr, uint64_t bytes);
/// Reads what a large page has room for, around an address in such a mapping, where nothing of it is in memory; into one large
/// folio, if the file system has those, which costs a tenth of the processor's time of as many small ones, and the disk reads at
/// twice the rate into it. Returns when it is there. take_out() then leaves it to others.
int read_large(uint64_t addr);

/// What is behind a descriptor of this process.
struct OpenFile {
  uint64_t mount = 0, inode = 0; ///< which file it is
  uint64_t position = 0; ///< of the next read()
  bool read_only = false; ///< open for reading alone, through the page cache
};
/// Bytes of a regular file; 0: it is none. Cost: 0.3 us.
uint64_t regular_bytes(int fd);
/// Stands for the file behind the descriptor among all there are; 0: it is none. Cost: 0.3 us.
uint64_t file_number(int fd);
/// posix_fadvise(), with its result. Whether the kernel reads ahead belongs to the open file, which descriptors may share.
int advise_file(int fd, int64_t offset, int64_t bytes, int advice);
/// Starts reading a part of the file into the page cache.
void will_read(int fd, uint64_t begin, uint64_t bytes);
/// Its flags, as fcntl() tells them, or -errno. Cost: 0.2 us.
int open_flags(int fd);
/// Waits for nobody who uses it. False: it is not open. Cost: 2 us.
bool open_file(int fd, OpenFile *);
/// The numbers of up to `most` descriptors that the process's first thread has open, and perhaps one that is none any more; returns how many. Cost: 2 us, and 0.1 us each.
unsigned open_descriptors(int *fds, unsigned most);
/// Makes the calling thread's descriptors its own, none of which is open. False: it cannot have that; it must end then. Whoever
/// closes a descriptor of a file gives up its process's record locks (fcntl) on that file, which are the program's; not so here.
bool unshare_descriptors();
/// Another descriptor, for reading, of the file that the program has open under this number; negative: there is none. It may wait
/// for the file system. After unshare_descriptors(), or the file must have no record locks.
int reopen(int fd);
void close_reopened(int fd);
/// The file's size; 0 if it cannot be found out.
uint64_t file_bytes(int fd);
/// Which file a descriptor is of, where it is a regular one.
struct NamedFile {
  uint64_t device = 0, inode = 0, bytes = 0;
};
/// False: it is no regular file. Cost: 0.3 us.
bool named_file(int fd, NamedFile *);
/// A file in memory of that size, which nobody can read or write through the descriptors that open_stand_in() makes. Or -errno.
int make_stand_in(const char *name, uint64_t bytes);
int open_stand_in(int fd, bool close_on_exec);
/// With a zero byte; false: it has none, or a longer one.
bool working_directory(char *path, unsigned capacity);
/// The path that it was opened by, with a zero byte; false: it has none any more, or a longer one. Cost: 2 us.
bool path_of(int fd, char *path, unsigned capacity);
/// Where the next read() begins; -1: nowhere. It waits for a read that is under way.
int64_t position(int fd);
/// Gives up clean pages of the file that no process maps. May wait for other processors, for some ms. Cost: 0.2 us a page.
/// False: there is no such descriptor, in the calling thread's table, or no cache.
bool drop_cached(int fd, uint64_t begin, uint64_t end);

/// Page faults of this process that had to read, so far.
uint64_t major_faults();
/// The numbers of up to `most` threads of this process; returns how many. Cost: 2 us, and 0.1 us each.
unsigned threads(int *ids, unsigned most);
/// Bytes that this process has had read from disks so far, what was read ahead for it among them.
uint64_t read_from_disks();
/// The same of the calling thread, without what others read for it.
uint64_t read_from_disks_here();

/// Where the process's threads fault, as the kernel's events tell it (perf_event_open: root, CAP_PERFMON, or the sysctl
/// perf_event_paranoid). A fault costs 0.3 us more while it is followed. One thread; its own faults are left out.
class FaultEvents {
public:
  static constexpr unsigned kThreads = 32; ///< that are followed at most
  static constexpr unsigned kPending = 2047; ///< faults of a thread that are kept until they are taken; later ones are lost
  /// Takes address space, before the program relies on which addresses are free: what it has unmapped it may map again. False:
  /// there is not enough.
  bool start();
  /// Follows the threads that there are now and were not before, and no longer those that have ended. How many are followed,
  /// or -errno if none can be. Cost: 30 us a thread that is new, else 1 us.
  int follow();
  /// Up to `most` addresses, a thread's in their order; returns how many.
  unsigned take(uint64_t *places, unsigned most);
  /// In the child of a fork, too, to which the parent's threads are no business, and which has no rings: such mappings are not
  /// copied, and their places are made empty before others get them.
  void stop();

private:
  struct Followed {
    int thread = 0, descriptor = -1; ///< 0: free
  };
  char *ring_of(const Followed &) const;
  int open(Followed &, int thread);
  void close(Followed &);
  Followed followed_[kThreads];
  char *space_ = nullptr; ///< a ring's for each; without access while it is not used
};
/// In the child of a fork, before anything else here: forgets descriptors that speak of the parent.
void files_forked();
/// Waits until `fd` can be read, or `timeout_ns` have passed (0 = no limit).
void wait_readable(int fd, uint64_t timeout_ns);

} // namespace pagecast::os
