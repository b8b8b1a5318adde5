// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that come and go while pages fault, are cancelled in the middle, have destructors that touch data; nests
// left by exceptions and jumps, entered recursively; ten thousand threads' hints; and an end in the middle of it all.
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static constexpr size_t kN = 5 << 20;
static uint64_t *data;
static std::atomic<uint64_t> left_behind{0};

struct AtEnd {
  size_t at = 0;
  ~AtEnd() {
    for (size_t i = 0; i < 16; ++i) left_behind += data[(at + i * 5003) % kN] & 1;
  }
};
static thread_local AtEnd at_end;

static uint64_t sum(size_t from, size_t to) {
  uint64_t h = 0;
  for (size_t i = from; i < to; ++i) h += data[i];
  return h;
}

static void come_and_go() {
  std::atomic<uint64_t> total{0};
  for (int batch = 0; batch < 40; ++batch) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 10; ++t)
      threads.emplace_back([&total, n = size_t(batch * 10 + t)] {
        at_end.at = n * 1000;
        total += sum(n * (kN / 400), (n + 1) * (kN / 400));
      });
    for (auto &t : threads) t.join();
  }
  printf("threads %016llx %llu\n", (unsigned long long)total.load(), (unsigned long long)left_behind.load());
}

static void *forever(void *) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  volatile uint64_t h = 0;
  for (size_t i = 0;; i = (i + 4099) % kN) h = h + data[i];
}

static void cancelled() {
  for (int i = 0; i < 50; ++i) {
    pthread_t t;
    void *result;
    pthread_create(&t, nullptr, forever, nullptr);
    usleep(300);
    pthread_cancel(t);
    pthread_join(t, &result);
    if (result != PTHREAD_CANCELED) abort();
  }
  puts("cancelled");
}

__attribute__((noinline)) static void leave(int how, jmp_buf &where) {
  if (how == 1) throw std::runtime_error("out");
  if (how == 2) longjmp(where, 1);
}

__attribute__((noinline)) static uint64_t walk(size_t from, int depth, int how, jmp_buf &where) {
  uint64_t h = 0;
  for (size_t i = from; i < kN; i += 2048) {
    for (size_t j = i; j < i + 2048; ++j) h += data[j] ^ j;
    if (i - from == kN / 8 / 2048 * 2048) {
      if (depth) h += walk(from + 2048, depth - 1, how, where);
      else leave(how, where);
      break;
    }
  }
  return h;
}

static void left_early() {
  uint64_t h = 0;
  for (volatile int round = 0; round < 30; round = round + 1) {
    jmp_buf where;
    if (setjmp(where) == 0) {
      try {
        h += walk(size_t(round) * 4096, 3, round % 3, where);
      } catch (const std::exception &) {
        h = h * 3 + 1;
      }
    } else {
      puts("jumped");
    }
  }
  std::vector<std::thread> threads;
  std::atomic<uint64_t> total{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&total, t] {
      jmp_buf unused;
      total += walk(size_t(t) * 8192, 5, 0, unused);
    });
  for (auto &t : threads) t.join();
  printf("walks %016llx\n", (unsigned long long)total.load());
}

int main(int argc, char **argv) {
  data = static_cast<uint64_t *>(malloc(kN * sizeof *data));
  if (!data) return 1;
  for (size_t i = 0; i < kN; ++i) data[i] = i * 2654435761u;
  come_and_go();
  cancelled();
  left_early();
  const char *end = argc > 1 ? argv[1] : "return";
  for (int t = 0; t < 4; ++t) std::thread([] { forever(nullptr); }).detach();
  usleep(20000);
  fflush(stdout);
  if (!strcmp(end, "exit")) exit(0);
  if (!strcmp(end, "quick")) quick_exit(0);
  if (!strcmp(end, "now")) _exit(0);
  return 0;
}
