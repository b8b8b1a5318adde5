// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the data of small test programs go to disk and come back. Preloaded into every process of a suite, it
// does nothing unless the process has Pagecast's runtime. There it allocates REAL_PRESSURE bytes, more than the
// budget, which starts the paging of all large data, and a thread of its own reads them round and round, so that
// the program's pages must compete for their place. Each page holds its number: a page that comes back with
// another one ends the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kPage = 4096, kBurst = 64, kLeastPages = 1 };

static volatile uint64_t *data;
static uint64_t pages;

static volatile uint64_t *word_of(uint64_t page) { return data + page * (kPage / sizeof *data); }

static void *sweep(void *unused) {
  const struct timespec pause = {0, 4 * 1000 * 1000};
  for (uint64_t page = 0;; page = (page + 1) % pages) {
    if (*word_of(page) != page) {
      fprintf(stderr, "pressure: page %llu came back as page %llu\n", (unsigned long long)page,
              (unsigned long long)*word_of(page));
      abort();
    }
    // Bursts with pauses leave a processor to the program that is tested.
    if (page % kBurst == 0) nanosleep(&pause, NULL);
  }
  return unused;
}

__attribute__((constructor)) static void start(void) {
  const char *bytes = getenv("REAL_PRESSURE");
  if (!bytes || !dlsym(RTLD_DEFAULT, "pagecast_active")) return;
  pages = strtoull(bytes, NULL, 10) / kPage;
  if (pages < kLeastPages || !(data = malloc(pages * kPage))) return;
  for (uint64_t page = 0; page < pages; ++page) *word_of(page) = page;
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, sweep, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
