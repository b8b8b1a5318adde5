// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of this folder share: ranks, and a data set, which is one file that all ranks work on together.
//
// A rank maps the file and works on it as on an array; with --read it reads and writes pieces of it instead. Nothing else is
// used of the system, so that any file will do: on a local disk, on a file system that machines share, or behind a mapping.
// What a rank has stored others see after three steps: `flush` by the one, `meet` of all, `refresh` by the others. A function
// that works on the data set gets a piece of any size: mapped, the rank's whole part is one piece.
#ifndef APPS_SHARED_H
#define APPS_SHARED_H

#include "../common.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; ///< what is read at once at most with --read, bytes, if the program does not say otherwise

/// What every program is asked.
struct job {
  const char *path;
  uint64_t bytes;
  int reads;          ///< --read was given
  int makes, is_made; ///< --make, --made
  int rank, ranks;
};

struct data_set {
  int file;
  char *map; ///< NULL with --read
  uint64_t bytes;
  const struct job *job;
};

#define SHARED_HELP                                                                                                                 \
  "  --data PATH    the file of the data set\n"                                                                                     \
  "  --size TOTAL   its bytes, about (units K, M, G are binary)\n"                                                                  \
  "  --make         only make the data set\n"                                                                                       \
  "  --made         the data set is there: only work on it; without either, both\n"                                                 \
  "  --read         by reads and writes of pieces, instead of a mapping\n"                                                          \
  "  --times        seconds of each phase of the first rank, on stderr\n"

/// Ends all ranks with a sentence of this one.
static inline void give_up(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s: %s\n", app.name, what, detail);
  usleep(100000); // for mpirun to pass it on, which drops what it has not read when it ends the ranks
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/// Ends all ranks with the first one's sentence, where all have found the same.
static inline void all_give_up(const struct job *job, const char *what, const char *detail) {
  if (job->rank == 0) fprintf(stderr, "%s: %s: %s\n", app.name, what, detail);
  MPI_Finalize(); // who ends before the first one has spoken has it ended, too
  exit(2);
}

/// Takes `name` out of the arguments. Returns whether it was there.
static inline int take_word(int *argc, char **argv, const char *name) {
  int kept = 1, found = 0;
  for (int i = 1; i < *argc; i++) {
    if (!strcmp(argv[i], name))
      found = 1;
    else
      argv[kept++] = argv[i];
  }
  argv[*argc = kept] = NULL;
  return found;
}

static inline void end_ranks(void) {
  MPI_Finalize();
}

/// Joins the ranks and reads the command line; `options` has the program's own. What is wrong is said by the first rank alone.
static inline struct job start(int argc, char **argv, const char *name, const char *help, const struct app_option *options) {
  static const char *path;
  static uint64_t bytes;
  struct job job;
  struct app_option all[16] = {{"--data", NULL, &path}, {"--size", &bytes, NULL}};
  int count = 2;
  while (options->name) all[count++] = *options++;
  MPI_Init(&argc, &argv);
  atexit(end_ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  const int given = argc;
  job.makes = take_word(&argc, argv, "--make"), job.is_made = take_word(&argc, argv, "--made");
  job.reads = take_word(&argc, argv, "--read");
  if (job.rank != 0 && !freopen("/dev/null", "w", stdout)) give_up("no standard output", strerror(errno));
  const int errors = dup(2);
  if (job.rank != 0 && !freopen("/dev/null", "w", stderr)) give_up("no standard error", strerror(errno));
  parse_options(argc, argv, name, help, all);
  if (errors < 0 || dup2(errors, 2) < 0) give_up("no standard error", strerror(errno));
  close(errors);
  app.times = app.times && job.rank == 0;
  job.path = path, job.bytes = bytes;
  if (!path) all_give_up(&job, "no data set", given > 1 ? "name its file with --data" : "--help lists the options");
  if (!bytes) all_give_up(&job, "no size", "give --size, such as 64M");
  if (job.makes && job.is_made) all_give_up(&job, "--make and --made", "one of them, or neither for both");
  return job;
}

/// The whole range from 0 to `count` is split evenly: where the part of `rank` begins, and where the next one does.
static inline uint64_t part(const struct job *job, uint64_t count, int rank) {
  return count * (uint64_t)rank / (uint64_t)job->ranks;
}

/// Waits without a processor: there may be fewer of these than ranks, and MPI's own waits keep one busy.
static inline void wait_for(MPI_Request *request) {
  struct timespec pause = {0, 20000};
  int is_over = 0;
  for (MPI_Test(request, &is_over, MPI_STATUS_IGNORE); !is_over; MPI_Test(request, &is_over, MPI_STATUS_IGNORE)) {
    nanosleep(&pause, NULL);
    if (pause.tv_nsec < 1000000) pause.tv_nsec *= 2;
  }
}

/// Waits for all ranks.
static inline void meet(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_for(&request);
}

/// The file of `bytes`; with `anew`, it is made or given that size, and else it must have it.
static inline struct data_set open_data_set(const struct job *job, uint64_t bytes, int anew, int writes) {
  struct data_set d = {-1, NULL, bytes, job};
  char words[128];
  struct stat found;
  if (anew && job->rank == 0) {
    d.file = open(job->path, O_RDWR | O_CREAT, 0666);
    if (d.file < 0 || ftruncate(d.file, (off_t)bytes)) give_up(job->path, strerror(errno));
    close(d.file);
  }
  meet();
  d.file = open(job->path, anew || writes ? O_RDWR : O_RDONLY);
  if (d.file < 0 || fstat(d.file, &found)) give_up(job->path, strerror(errno));
  if ((uint64_t)found.st_size < bytes) {
    snprintf(words, sizeof words, "it has %llu bytes, and %llu belong to that size; make it again", (unsigned long long)found.st_size,
             (unsigned long long)bytes);
    give_up(job->path, words);
  }
  if (!job->reads) {
    void *map = mmap(NULL, bytes, PROT_READ | (anew || writes ? PROT_WRITE : 0), MAP_SHARED, d.file, 0);
    if (map == MAP_FAILED) give_up(job->path, strerror(errno));
    d.map = (char *)map;
  }
  return d;
}

static inline void close_data_set(struct data_set *d) {
  if (d->map) munmap(d->map, d->bytes);
  close(d->file);
}

/// `length` bytes at `offset`: in the mapping, or read into `buffer`. Ends the program if they cannot be read.
static inline void *piece(const struct data_set *d, uint64_t offset, uint64_t length, void *buffer) {
  if (d->map) return d->map + offset;
  for (uint64_t done = 0; done < length;) {
    const ssize_t n = pread(d->file, (char *)buffer + done, length - done, (off_t)(offset + done));
    if (n <= 0 && !(n < 0 && errno == EINTR)) give_up(d->job->path, n < 0 ? strerror(errno) : "it has become shorter");
    if (n > 0) done += (uint64_t)n;
  }
  return buffer;
}

/// As `piece`, of what will be stored to as a whole: nothing is read.
static inline void *new_piece(const struct data_set *d, uint64_t offset, void *buffer) {
  return d->map ? d->map + offset : buffer;
}

/// Gives back a piece that was stored to.
static inline void put_piece(const struct data_set *d, uint64_t offset, uint64_t length, const void *buffer) {
  for (uint64_t done = 0; !d->map && done < length;) {
    const ssize_t n = pwrite(d->file, (const char *)buffer + done, length - done, (off_t)(offset + done));
    if (n <= 0 && !(n < 0 && errno == EINTR)) give_up(d->job->path, n < 0 ? strerror(errno) : "it takes no more");
    if (n > 0) done += (uint64_t)n;
  }
}

/// The pages that the range is in.
static inline void sync_pages(const struct data_set *d, uint64_t offset, uint64_t length, int how) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = offset / page * page;
  if (d->map && length && msync(d->map + from, offset + length - from, how)) give_up(d->job->path, strerror(errno));
}

/// What this rank has stored there is in the file when this returns.
static inline void flush(const struct data_set *d, uint64_t offset, uint64_t length) {
  sync_pages(d, offset, length, MS_SYNC);
}

/// What others have flushed there is seen from now on.
static inline void refresh(const struct data_set *d, uint64_t offset, uint64_t length) {
  sync_pages(d, offset, length, MS_INVALIDATE);
}

/// Each rank has set some of the values, and left 0 in the others: all get all of them. Sums with 0 are exact, so that results do
/// not depend on the number of ranks.
static inline void share_values(double *values, uint64_t count) {
  meet();
  for (uint64_t from = 0; from < count; from += PIECE) {
    const uint64_t some = count - from < PIECE ? count - from : PIECE;
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, values + from, (int)some, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_for(&request);
  }
}

/// FNV-1a of the values' bits.
static inline uint64_t checksum_of(const double *values, uint64_t count) {
  uint64_t sum = 14695981039346656037u, bits;
  for (uint64_t i = 0; i < count; i++) {
    memcpy(&bits, &values[i], sizeof bits);
    sum = (sum ^ bits) * 1099511628211u;
  }
  return sum;
}

static double measured_since;

/// The measured part begins: everyone is there.
static inline void begin_measuring(void) {
  meet();
  measured_since = MPI_Wtime();
}

/// It ends: the checksum of the result and its time. Returns the program's exit status.
static inline int end_measuring(const double *values, uint64_t count, int passed) {
  meet();
  const double seconds = MPI_Wtime() - measured_since;
  printf("checksum: %016llx\ntime: %.3f s\n", (unsigned long long)checksum_of(values, count), seconds);
  return verification(passed);
}

#endif
