// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program does with exports: `read PATH` maps and reads a path that knows of none; `share URI` stores to one through
// pagecast.h; `rank PATH I N` stores one of N parts of a path, and reads all; `turns PATH I N` stores
// to tiles of a path that go around N ranks, and reads all, three times; `rounds PATH N` reads all in each of at most 3 rounds, between
// which it works on tables of its own; `wait URI` goes on when it is told to.
#include <errno.h>
#include <fcntl.h>
#include <pagecast/pagecast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(const char *what) { return printf("%s: %s\n", what, strerror(errno)), 1; }

static uint64_t sum(const uint64_t *p, long n) {
  uint64_t s = 0;
  for (long i = 0; i < n; i++) s += p[i] * 31;
  return s;
}

static void meet(void) {
  puts("here");
  fflush(stdout);
  getchar();
}

static int read_path(const char *path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return failed("open");
  struct stat by_path, by_fd;
  if (stat(path, &by_path) || fstat(fd, &by_fd) || by_path.st_size != by_fd.st_size) return failed("stat");
  const uint64_t *p = mmap(NULL, by_fd.st_size, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return failed("mmap");
  const long n = by_fd.st_size / 8;
  uint64_t word = 0, *copy = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
  if (copy == MAP_FAILED || copy[1] != p[513]) return failed("private mmap");
  copy[1]++;
  if (lseek(fd, 8 * (n / 2), SEEK_SET) < 0 || read(fd, &word, 8) != 8 || word != p[n / 2]) return failed("read");
  if (pread(fd, &word, 8, 800) != 8 || word != p[100] || pread(fd, &word, 8, by_fd.st_size) != 0) return failed("pread");
  if (write(fd, &word, 8) >= 0 || ftruncate(fd, 0) == 0) return puts("it was written"), 1;
  if (open(path, O_RDWR | O_TRUNC) >= 0) return puts("it was cut"), 1;
  printf("%ld %lx\n", (long)by_fd.st_size, sum(p, n));
  return munmap((void *)p, by_fd.st_size);
}

static int share(const char *uri) {
  const int64_t bytes = pagecast_map_bytes(uri);
  const long n = bytes / 8;
  uint64_t *w = pagecast_map(uri, 0, 0, PAGECAST_MAP_WRITE);
  const uint64_t *r = pagecast_map(uri, 0, 0, 0);
  if (bytes < 0 || !w || !r) return failed("pagecast_map");
  printf("before %lx\n", sum(r, n));
  for (long i = 0; i < n; i++) w[i] = i * 7 + 1;
  const int flushed = pagecast_flush(w, bytes);
  pagecast_refresh((void *)r, bytes);
  printf("flushed %d %lx\n", flushed, sum(r, n));
  w[3] = 1000;
  fflush(stdout);
  if (fork() == 0) {
    w[4] = w[3] + 1;
    _exit(pagecast_flush(w, 4096) != 0);
  }
  int status;
  wait(&status);
  w[n - 1] = 5; // what is stored and not flushed stays
  pagecast_refresh(w, bytes);
  printf("child %d %lu %lu\n", status, w[4], w[n - 1]);
  printf("unmapped %d\n", pagecast_unmap(w, bytes));
  pagecast_refresh((void *)r, bytes);
  printf("last %lu\n", r[n - 1]);
  return 0;
}

static int rank(const char *path, int me, int ranks) {
  const int fd = open(path, O_RDWR);
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) return failed("open");
  uint64_t *p = mmap(NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return failed("mmap");
  const long n = s.st_size / 8, pages = n / 512; // a page is one rank's
  const long begin = pages * me / ranks * 512, end = me + 1 == ranks ? n : pages * (me + 1) / ranks * 512;
  const uint64_t before = sum(p, n);
  meet();
  for (long i = begin; i < end; i++) p[i] = i + 1;
  if (msync(p, s.st_size, MS_SYNC)) return failed("msync");
  meet();
  if (msync(p, s.st_size, MS_INVALIDATE)) return failed("msync");
  printf("%lx %lx\n", before, sum(p, n));
  meet();
  p[begin] = 77; // and goes without a word
  return 0;
}

/// A rank's tiles lie between those of others. Says how many pages are not as all have stored them.
static int turns(const char *path, int me, int ranks) {
  enum { ROUNDS = 3, TILE = 8 };
  const int fd = open(path, O_RDWR);
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) return failed("open");
  uint64_t *p = mmap(NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return failed("mmap");
  const long pages = s.st_size / 4096;
  for (int round = 1; round <= ROUNDS; round++) {
    long wrong = 0;
    for (long i = 0; i < pages; i++)
      for (int w = 0; i / TILE % ranks == me && w < 512; w++) p[i * 512 + w] = p[i * 512 + w] + round * i;
    if (msync(p, s.st_size, MS_SYNC)) return failed("msync");
    meet();
    if (msync(p, s.st_size, MS_INVALIDATE)) return failed("msync");
    for (long i = 0; i < pages; i++) wrong += p[i * 512] != (uint64_t)(round * (round + 1) / 2 * i);
    printf("%ld\n", wrong);
    meet();
  }
  return 0;
}

enum { TABLE = 1 << 20, ROW = 1 << 15, PIECE = 1 << 19 }; ///< words
static volatile long piece = PIECE; ///< nobody knows how many there are

/// The slice of the loop over rounds goes through rows and single places of the table, and does not know of `p`.
__attribute__((noinline)) static uint64_t go_round(const uint64_t *p, long n, const uint64_t *table, const long *rows,
                                                   long rounds) {
  uint64_t s = 0;
  for (long r = 0; r < rounds; r++) {
    for (long from = 0, to; from < n; from = to) {
      to = n - from > piece ? from + piece : n;
      for (long i = from; i < to; i++) s += p[i] * 31;
    }
    for (long i = 0; i < rows[r]; i++) s += table[rows[r] * r + i];
    s += table[rows[r] * rows[r] % TABLE];
  }
  return s;
}

static int rounds(const char *path, long count) {
  const int fd = open(path, O_RDONLY);
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) return failed("open");
  const uint64_t *p = mmap(NULL, s.st_size, PROT_READ, MAP_SHARED, fd, 0);
  uint64_t *table = calloc(TABLE, sizeof *table);
  if (p == MAP_FAILED || !table) return failed("mmap");
  for (long i = 0; i < TABLE; i++) table[i] = 1;
  const long rows[] = {ROW, ROW + 1, ROW + 2};
  printf("%lx\n", go_round(p, s.st_size / 8, table, rows, count));
  return 0;
}

static int wait_for(const char *uri) {
  const char *p = pagecast_map(uri, 0, 0, 0);
  if (!p) return failed("pagecast_map");
  printf("%d ", p[5000]);
  meet();
  printf("%d\n", p[5000]); // it is in memory
  fflush(stdout);
  return p[8 << 20];
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "read")) return read_path(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "share")) return share(argv[2]);
  if (argc == 5 && !strcmp(argv[1], "rank")) return rank(argv[2], atoi(argv[3]), atoi(argv[4]));
  if (argc == 5 && !strcmp(argv[1], "turns")) return turns(argv[2], atoi(argv[3]), atoi(argv[4]));
  if (argc == 4 && !strcmp(argv[1], "rounds")) return rounds(argv[2], atoi(argv[3]));
  if (argc == 3 && !strcmp(argv[1], "wait")) return wait_for(argv[2]);
  void *map = argc == 4 ? pagecast_map(argv[1], strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0), PAGECAST_MAP_WRITE) : NULL;
  return map ? puts("mapped"), 0 : failed("pagecast_map");
}
