// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// seccomp's strict mode, in which a thread may only read, write and end: a file is read into data that are not in memory, and
// all of it is added up. Most of many rows are freed, and some allocated again.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 40 << 20, PAGE = 4096, ROWS = 2048, ROW = 16 << 10, FREED = 1536 };
static unsigned *row[ROWS];

static void print(unsigned number) {
  char text[16], *at = text + sizeof text;
  *--at = '\n';
  do *--at = (char)('0' + number % 10);
  while (number /= 10);
  if (write(1, at, (size_t)(text + sizeof text - at)) < 0) syscall(SYS_exit, 2);
}

int main(int argc, char **argv) {
  (void)argc;
  unsigned char *data = malloc(BYTES);
  int file = open(argv[0], O_RDONLY);
  if (!data || file < 0) return 1;
  for (size_t i = 0; i < BYTES; i += PAGE) data[i] = (unsigned char)(i / PAGE);
  for (unsigned i = 0; i < ROWS; i++) {
    if (!(row[i] = malloc(ROW))) return 1;
    row[i][0] = i;
  }
  mallopt(M_TRIM_THRESHOLD, 1 << 30); // the end of the heap is not given back
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 3;
  print((unsigned)read(file, data + 2 * PAGE, PAGE));
  unsigned sum = 0;
  for (size_t i = 0; i < BYTES; i += PAGE) sum += data[i];
  print(sum);
  for (unsigned i = 0; i < FREED; i++) free(row[i]);
  for (unsigned i = 0; i < FREED / 2; i++) (row[i] = malloc(ROW))[0] = 3 * i;
  for (unsigned i = 0; i < FREED / 2; i++) sum += row[i][0];
  for (unsigned i = FREED; i < ROWS; i++) sum += row[i][0];
  print(sum);
  syscall(SYS_exit, 0);
}
