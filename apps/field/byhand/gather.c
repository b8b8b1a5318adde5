// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GATHER by hand: pages are asked for well before their turn, many at a time, and kept in a cache of the program's
// own, with a second chance for what is used again. The places are taken in their order.
#include "stream.h"

static const char help[] =
    "usage: gather --memory-size TOTAL --file F --memory M [--count 200000] [--hot 0] [--times]\n"
    "See ../gather.c.\n"
    "  --memory M  bytes that may be used\n";

enum { AHEAD = 512, LOT = 16, NONE = 0 };

/// Slot 0 is nobody's.
struct cache {
  struct io_uring ring;
  char *memory;      // slots of a page
  uint32_t *slot_of; // by page; NONE
  uint32_t *page_of; // by slot
  uint16_t *wanted;  // by slot: places ahead that are in it
  uint8_t *used;     // by slot: since the hand passed
  uint8_t *ready;    // by slot
  uint32_t slots, hand;
  unsigned pending; // reads not submitted
};

static void cache_open(struct cache *c, const char *file, uint64_t bytes, uint64_t memory) {
  int fd = open_direct(file, 0, bytes);
  uint64_t pages = (bytes + PAGE - 1) / PAGE, each = PAGE + sizeof(uint32_t) + sizeof(uint16_t) + 2;
  memset(c, 0, sizeof *c);
  c->slots = (uint32_t)(memory / each);
  if (c->slots < 2 * AHEAD)
    c->slots = 2 * AHEAD;
  c->memory = aligned_memory((size_t)c->slots * PAGE);
  c->slot_of = (uint32_t *)calloc(pages, sizeof(uint32_t));
  c->page_of = (uint32_t *)calloc(c->slots, sizeof(uint32_t));
  c->wanted = (uint16_t *)calloc(c->slots, sizeof(uint16_t));
  c->used = (uint8_t *)calloc(c->slots, 1);
  c->ready = (uint8_t *)calloc(c->slots, 1);
  if (!c->slot_of || !c->page_of || !c->wanted || !c->used || !c->ready)
    fail("no memory", strerror(ENOMEM));
  memset(c->memory, 0, (size_t)c->slots * PAGE);
  check(io_uring_queue_init(AHEAD, &c->ring, 0), "io_uring");
  check(io_uring_register_files(&c->ring, &fd, 1), "io_uring: the file");
}

static void submit(struct cache *c) {
  if (c->pending)
    check(io_uring_submit(&c->ring), "io_uring: submission");
  c->pending = 0;
}

/// A slot that no place ahead is in.
static uint32_t victim(struct cache *c) {
  for (;;) {
    c->hand = c->hand + 1 < c->slots ? c->hand + 1 : 1;
    if (c->wanted[c->hand])
      continue;
    if (!c->used[c->hand])
      return c->hand;
    c->used[c->hand] = 0;
  }
}

static void want(struct cache *c, uint32_t page) {
  uint32_t slot = c->slot_of[page];
  if (slot != NONE) {
    c->wanted[slot]++;
    c->used[slot] = 1;
    return;
  }
  slot = victim(c);
  if (c->ready[slot])
    c->slot_of[c->page_of[slot]] = NONE;
  c->slot_of[page] = slot;
  c->page_of[slot] = page;
  c->ready[slot] = 0;
  c->wanted[slot] = 1;
  struct io_uring_sqe *entry = io_uring_get_sqe(&c->ring);
  io_uring_prep_read(entry, 0, c->memory + (size_t)slot * PAGE, PAGE, (uint64_t)page * PAGE);
  io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(entry, slot);
  if (++c->pending == LOT)
    submit(c);
}

static void complete(struct cache *c) {
  struct io_uring_cqe *done;
  submit(c);
  check(io_uring_wait_cqe(&c->ring, &done), "io_uring: completion");
  do {
    check(done->res, "input");
    c->ready[io_uring_cqe_get_data64(done)] = 1;
    io_uring_cqe_seen(&c->ring, done);
  } while (io_uring_peek_cqe(&c->ring, &done) == 0);
}

static uint64_t gather(struct cache *c, const uint64_t *place, size_t count) {
  const size_t words = PAGE / sizeof(uint64_t);
  uint64_t total = 0;
  size_t ahead = 0;
  for (size_t i = 0; i < count; i++) {
    for (; ahead < count && ahead < i + AHEAD; ahead++)
      want(c, (uint32_t)(place[ahead] / words));
    uint32_t slot = c->slot_of[place[i] / words];
    while (!c->ready[slot])
      complete(c);
    total += ((const uint64_t *)(c->memory + (size_t)slot * PAGE))[place[i] % words];
    c->wanted[slot]--;
  }
  return total;
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, count = 200000, hot = 0, seed = 1, memory = 0;
  const char *file = "";
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--count", &count, NULL}, {"--hot", &hot, NULL},   {"--seed", &seed, NULL},
                                       {"--memory", &memory, NULL},     {"--file", NULL, &file},   {NULL, NULL, NULL}};
  parse_options(argc, argv, "gather", help, options);
  size_t n = bytes / sizeof(uint64_t);
  if (n < 10)
    fail("--memory-size is too small", "ten words are needed");
  uint64_t *place = (uint64_t *)allocate(count, sizeof *place), state = mixed(seed);
  struct cache c;
  for (size_t i = 0; i < count; i++)
    place[i] = random_place(&state, n, hot);
  cache_open(&c, file, bytes, memory);
  phase("data");
  uint64_t total = gather(&c, place, count);
  phase("pass");
  io_uring_queue_exit(&c.ring);
  printf("words: %llu\nsum: %016llx\n", (unsigned long long)count, (unsigned long long)total);
  return 0;
}
