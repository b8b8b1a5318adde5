// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program made of a seed: composed SEED OPERATIONS OUTPUT. It runs in a directory with `file` and `names/`, both slow.
// Between reads it writes, forks, makes threads, sends itself signals; what it has seen of all that is one sum.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state, sum;
static volatile sig_atomic_t signals;
static int file, output, scratch;
static off_t size;
static const char *directory;

static uint64_t draw(uint64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % below;
}
static void mix(uint64_t value) { sum = (sum ^ value) * 0x9e3779b97f4a7c15u + (sum >> 29); }
static void mix_bytes(const void *from, ssize_t bytes) {
  mix((uint64_t)bytes);
  for (ssize_t i = 0; i < bytes; i++) mix(((const unsigned char *)from)[i]);
}
static void count_signal(int number) {
  (void)number;
  signals++;
  if (write(output, "!", 1) != 1) abort();
}
static off_t place(void) { return (off_t)draw((uint64_t)size / 4096) * 4096; }

static void read_somewhere(void) {
  char block[8192];
  mix_bytes(block, pread(file, block, draw(2) ? 4096 : 8192, place()));
}
/// The next place depends on what is read.
static void follow(void) {
  uint64_t next = 0;
  for (int i = 0; i < 3; i++) {
    if (pread(file, &next, sizeof next, place()) != sizeof next) abort();
    state ^= next;
    mix(next);
  }
}
static void read_in_order(void) {
  char block[3000];
  mix((uint64_t)lseek(file, place(), SEEK_SET));
  for (int i = 0; i < 4; i++) mix_bytes(block, read(file, block, sizeof block));
  mix((uint64_t)lseek(file, 0, SEEK_CUR));
}
static void read_vectors(void) {
  char a[100], b[5000];
  const struct iovec vectors[2] = {{a, sizeof a}, {b, sizeof b}};
  mix((uint64_t)preadv(file, vectors, 2, place()));
  mix_bytes(a, sizeof a);
  mix_bytes(b, sizeof b);
}
static void write_out(void) {
  char text[64];
  const int length = snprintf(text, sizeof text, "%lx\n", sum);
  if (write(output, text, (size_t)length) != length) abort();
}
static void write_and_read_back(void) {
  uint64_t block[512];
  for (int i = 0; i < 512; i++) block[i] = sum + (uint64_t)i;
  if (pwrite(scratch, block, sizeof block, (off_t)draw(8) * 4096) != sizeof block) abort();
  mix_bytes(block, pread(scratch, block, sizeof block, (off_t)draw(8) * 4096));
}
static void through_a_pipe(void) {
  int ends[2];
  char block[4096];
  if (pipe(ends)) abort();
  const ssize_t n = pread(file, block, sizeof block, place());
  if (write(ends[1], block, (size_t)n) != n) abort();
  close(ends[1]);
  memset(block, 0, sizeof block);
  mix_bytes(block, read(ends[0], block, sizeof block));
  mix((uint64_t)read(ends[0], block, 1)); // its end: nobody else has it open
  close(ends[0]);
}
static void *run_thread(void *to) {
  char block[4096];
  const ssize_t n = pread(file, block, sizeof block, *(off_t *)to);
  uint64_t own = (uint64_t)n;
  for (ssize_t i = 0; i < n; i++) own = own * 31 + (unsigned char)block[i];
  return (void *)own;
}
static void with_threads(void) {
  pthread_t threads[3];
  off_t places[3];
  for (int i = 0; i < 3; i++) places[i] = place();
  for (int i = 0; i < 3; i++)
    if (pthread_create(&threads[i], NULL, run_thread, &places[i])) abort();
  for (int i = 0; i < 3; i++) {
    void *result;
    pthread_join(threads[i], &result);
    mix((uint64_t)result);
  }
}
static void with_a_child(void) {
  int ends[2], status;
  if (pipe(ends)) abort();
  const pid_t child = fork();
  if (child == 0) {
    char block[4096];
    close(ends[0]);
    for (int i = 0; i < 5; i++) mix_bytes(block, pread(file, block, sizeof block, place()));
    if (write(ends[1], &sum, sizeof sum) != sizeof sum) _exit(1);
    _exit((int)(sum % 100));
  }
  close(ends[1]);
  uint64_t said = 0;
  mix((uint64_t)read(ends[0], &said, sizeof said));
  close(ends[0]);
  if (waitpid(draw(2) ? child : -1, &status, 0) != child) abort();
  mix(said ^ (uint64_t)status);
}
static void signal_itself(void) {
  const int before = signals;
  kill(getpid(), SIGUSR1);
  mix((uint64_t)(signals - before));
}
static void map_a_piece(void) {
  const unsigned char *const memory = mmap(NULL, 65536, PROT_READ, draw(2) ? MAP_PRIVATE : MAP_SHARED, file, place() / 65536 * 65536);
  if (memory == MAP_FAILED) abort();
  for (int i = 0; i < 65536; i += 1000) mix(memory[i]);
  munmap((void *)memory, 65536);
}
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static void walk(void) {
  struct dirent **names;
  char path[300], block[4096];
  const int count = scandir("names", &names, NULL, by_name);
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "names/%s", names[i]->d_name);
    struct stat facts;
    if (lstat(path, &facts)) abort();
    mix((uint64_t)facts.st_mode);
    if (S_ISREG(facts.st_mode)) {
      const int opened = open(path, O_RDONLY);
      mix((uint64_t)facts.st_size);
      for (ssize_t n; (n = read(opened, block, sizeof block)) > 0;) mix_bytes(block, n);
      close(opened);
    }
    free(names[i]);
  }
  free(names);
}
static void change_names(void) {
  char one[512], other[512];
  snprintf(one, sizeof one, "%s/a%lu", directory, draw(5));
  snprintf(other, sizeof other, "%s/b%lu", directory, draw(5));
  const int made = open(one, O_WRONLY | O_CREAT | O_EXCL, 0644);
  mix(made >= 0);
  if (made >= 0) close(made);
  mix((uint64_t)rename(one, other));
  if (draw(2)) mix((uint64_t)unlink(other));
}
static void send_a_piece(void) {
  off_t at = place();
  mix((uint64_t)sendfile(output, file, &at, 4096));
  mix((uint64_t)at);
}
static void another_descriptor(void) {
  char block[512];
  const int other = dup(file);
  mix((uint64_t)lseek(other, place(), SEEK_SET));
  mix_bytes(block, read(file, block, sizeof block)); // they share the position
  close(other);
}
static void run_a_command(void) {
  FILE *const command = popen("dd if=file bs=4096 count=3 skip=9 2>/dev/null | cksum", "r");
  char line[100];
  if (!fgets(line, sizeof line, command)) abort();
  mix_bytes(line, (ssize_t)strlen(line));
  mix((uint64_t)pclose(command));
}

int main(int count, char **arguments) {
  static void (*const operations[])(void) = {
      read_somewhere, read_somewhere, read_somewhere, read_somewhere, follow, read_in_order, read_vectors, write_out,
      write_and_read_back, through_a_pipe, with_threads, with_a_child, signal_itself, map_a_piece, walk, change_names,
      send_a_piece, another_descriptor, run_a_command};
  if (count != 4) return 2;
  state = strtoull(arguments[1], NULL, 10) * 7919;
  directory = arguments[3];
  char path[512];
  snprintf(path, sizeof path, "%s/output", directory);
  output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  snprintf(path, sizeof path, "%s/scratch", directory);
  scratch = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (ftruncate(scratch, 65536)) return 3;
  file = open("file", O_RDONLY);
  struct stat facts;
  if (output < 0 || scratch < 0 || fstat(file, &facts)) return 3;
  size = facts.st_size - 65536;
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); // the next reads wait
  signal(SIGUSR1, count_signal);
  for (int i = atoi(arguments[2]); i > 0; i--) operations[draw(sizeof operations / sizeof *operations)]();
  errno = 0;
  if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD) return 4;
  printf("%016lx %d\n", sum, (int)signals);
  return (int)(sum % 50);
}
