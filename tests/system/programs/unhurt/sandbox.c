// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sandboxes: sandbox WHEN ACTION HOW. WHEN: before or after there are large data; asked: between asking for them and the first
// loop over them; or inherited, or copies: inherited, against the calls that copy margins and give up page cache (it starts itself
// again then).
// ACTION: what happens to who makes a call that is not on the list. HOW the filter is put on: prctl or seccomp, or none.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
#define ROWS 2000u // of 4 bytes each, and as many columns
#define COUNT(a) (sizeof a / sizeof *a)

// What a program that computes and prints needs, and nothing else.
static const int few[] = {SYS_read, SYS_write, SYS_mmap, SYS_munmap, SYS_brk, SYS_exit_group, SYS_rt_sigreturn};
static const int pagers[] = {SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
                             SYS_io_setup,
                             SYS_process_madvise, SYS_pidfd_open};
static const int copies[] = {SYS_memfd_create, SYS_pwritev, SYS_fadvise64, SYS_unshare};

static struct sock_filter program[64];

/// A list of calls that are allowed, all others being denied, or the other way round.
static struct sock_fprog filter(const int *calls, size_t count, unsigned listed, unsigned others) {
  unsigned short n = 0;
  program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; i++) {
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
  }
  program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
  return (struct sock_fprog){n, program};
}

static void put_on(struct sock_fprog f, const char *how) {
  if (!strcmp(how, "none")) return;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) abort();
  if (!strcmp(how, "prctl") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f, 0, 0)
                            : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f))
    abort();
}

static unsigned action(const char *name) {
  if (!strcmp(name, "kill")) return SECCOMP_RET_KILL_PROCESS;
  if (!strcmp(name, "trap")) return SECCOMP_RET_TRAP;
  if (!strcmp(name, "allow")) return SECCOMP_RET_ALLOW;
  return SECCOMP_RET_ERRNO | (!strcmp(name, "enosys") ? ENOSYS : EPERM);
}

static unsigned sum = 0;

__attribute__((noinline)) static void fill(unsigned *data, size_t n, unsigned key) {
  for (size_t i = 0; i < n; i++) data[i] = ((unsigned)i ^ key) + (key << 7);
}

__attribute__((noinline)) static void add_up(const unsigned *data, const unsigned *index, size_t n) {
  for (size_t i = 0; i < n; i++) sum = sum * 31 + data[index[i] % n];
}

/// Rows in the order of a list, and columns of others: what is read is looked for before the first of them.
__attribute__((noinline)) static void by_rows(unsigned *out, const unsigned *data, const unsigned *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    unsigned s = 0;
    for (size_t j = 0; j < n; j++) s += data[rows[i] * n + j] * out[j * n + i];
    out[i] += s;
  }
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *when = argv[1];
  const size_t n = 24 * MB / sizeof(unsigned);
  const int copying = !strcmp(when, "copies");
  if (copying || !strcmp(when, "inherited")) {
    put_on(filter(copying ? copies : pagers, copying ? COUNT(copies) : COUNT(pagers), action(argv[2]), SECCOMP_RET_ALLOW), argv[3]);
    execv("/proc/self/exe", (char *[]){argv[0], "never", argv[2], argv[3], NULL});
    return 3;
  }
  const int file = open("/proc/version", O_RDONLY);
  puts("begin");
  fflush(stdout);
  const struct sock_fprog strict = filter(few, COUNT(few), SECCOMP_RET_ALLOW, action(argv[2]));
  if (!strcmp(when, "before")) put_on(strict, argv[3]);
  unsigned *data = malloc(n * sizeof *data), *index = malloc(n * sizeof *index);
  if (!data || !index) return 1;
  if (!strcmp(when, "asked")) put_on(strict, argv[3]);
  fill(data, n, 7);
  fill(index, n, 1023); // backwards within its pages
  if (!strcmp(when, "after")) put_on(strict, argv[3]);
  for (unsigned round = 0; round < 3; round++) {
    add_up(data, index, n);
    fill(data, n, round);
  }
  unsigned *more = malloc(n * sizeof *more);
  if (!more) return 1;
  fill(more, n, 3);
  if (read(file, more, 64) != 64) return 1;
  add_up(more, index, n);
  add_up(data, index, n);
  for (unsigned i = 0; i < ROWS; i++) index[i] = (i * 7919u) % ROWS;
  by_rows(more, data, index, ROWS);
  for (unsigned i = 0; i < ROWS; i++) sum = sum * 31 + more[i];
  free(more);
  printf("%08x\n", sum);
  free(data);
  return 0;
}
