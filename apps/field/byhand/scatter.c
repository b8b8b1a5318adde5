// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SCATTER by hand: a buffer for each bucket, written when it is full while its twin fills. Pages that two buckets
// share are put together in memory and written last. The file for the output must be a whole number of pages.
#include "stream.h"

enum { BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS, TWINS = 2, MOST_WRITES = 256 };

static const char help[] =
    "usage: scatter --memory-size TOTAL --file F --output G --memory M [--times]\n"
    "See ../scatter.c.\n"
    "  --memory M  bytes that may be used\n";

struct bucket {
  uint64_t next;       // byte offset in the output of the next key
  uint64_t begin;      // of what the buffer holds: a whole page
  uint32_t filling;    // which twin
  uint8_t busy[TWINS]; // being written
};

struct writer {
  struct io_uring ring;
  unsigned writes; // under way
  char *buffers;   // TWINS for each bucket
  size_t size;     // of one, whole pages
  char *seams;     // pages in which a bucket begins that are not all its own
  uint64_t first[BUCKETS + 1];   // where buckets begin, and where the last ends
  uint32_t seam_of[BUCKETS + 1]; // the page in which a bucket begins, in seams: the least bucket's in that page
  struct bucket bucket[BUCKETS];
};

#define NO_BUCKET UINT64_MAX

static char *buffer_of(struct writer *w, uint32_t b) {
  return w->buffers + ((size_t)b * TWINS + w->bucket[b].filling) * w->size;
}

static void complete(struct writer *w) {
  struct io_uring_cqe *done;
  check(io_uring_submit_and_wait(&w->ring, 1), "io_uring: completion");
  while (io_uring_peek_cqe(&w->ring, &done) == 0) {
    uint64_t which = io_uring_cqe_get_data64(done);
    check(done->res, "output");
    if (which != NO_BUCKET)
      w->bucket[which / TWINS].busy[which % TWINS] = 0;
    w->writes--;
    io_uring_cqe_seen(&w->ring, done);
  }
}

static void write_pages(struct writer *w, const char *from, uint64_t at, size_t bytes, uint64_t which) {
  while (w->writes == MOST_WRITES)
    complete(w);
  struct io_uring_sqe *entry = io_uring_get_sqe(&w->ring);
  io_uring_prep_write(entry, 0, from, (unsigned)bytes, at);
  io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(entry, which);
  check(io_uring_submit(&w->ring), "io_uring: submission");
  w->writes++;
}

/// Bucket b's buffer, [begin, next) of the output, to the file; parts of pages to seams. All but the last such call
/// end with a whole page.
static void flush(struct writer *w, uint32_t b) {
  struct bucket *k = &w->bucket[b];
  const char *from = buffer_of(w, b) - k->begin; // from + offset in the output
  uint64_t start = w->first[b] > k->begin ? w->first[b] : k->begin, end = k->next;
  uint64_t low = (start + PAGE - 1) / PAGE * PAGE, high = end / PAGE * PAGE;
  if (low > start)
    memcpy(w->seams + (size_t)w->seam_of[b] * PAGE + start % PAGE, from + start, (end < low ? end : low) - start);
  if (end > high && high >= low)
    memcpy(w->seams + (size_t)w->seam_of[b + 1] * PAGE, from + high, end - high);
  if (high > low) {
    k->busy[k->filling] = 1;
    write_pages(w, from + low, low, high - low, (uint64_t)b * TWINS + k->filling);
  }
  k->filling = (k->filling + 1) % TWINS;
  k->begin = high;
  while (k->busy[k->filling])
    complete(w);
}

static void count(uint64_t *keys, const uint32_t *key, size_t n) {
  for (size_t i = 0; i < n; i++)
    keys[key[i] >> (32 - BUCKET_BITS)]++;
}

/// Where buckets begin, and which share a page there.
static void place(struct writer *w, const uint64_t *keys) {
  uint64_t *first = w->first, at = 0;
  for (uint32_t b = 0; b <= BUCKETS; b++) {
    first[b] = at;
    w->seam_of[b] = b && first[b] / PAGE == first[b - 1] / PAGE ? w->seam_of[b - 1] : b;
    if (b == BUCKETS)
      break;
    w->bucket[b].next = at;
    w->bucket[b].begin = at / PAGE * PAGE;
    at += keys[b] * sizeof(uint32_t);
  }
}

static void scatter(struct writer *w, const uint32_t *key, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t b = key[i] >> (32 - BUCKET_BITS);
    struct bucket *k = &w->bucket[b];
    *(uint32_t *)(buffer_of(w, b) + (k->next - k->begin)) = key[i];
    k->next += sizeof(uint32_t);
    if (k->next - k->begin == w->size)
      flush(w, b);
  }
}

static void finish(struct writer *w) {
  static uint8_t is_written[BUCKETS + 1];
  for (uint32_t b = 0; b < BUCKETS; b++)
    flush(w, b);
  for (uint32_t b = 1; b <= BUCKETS; b++) {
    uint32_t seam = w->seam_of[b];
    if (w->first[b] % PAGE == 0 || is_written[seam])
      continue;
    is_written[seam] = 1;
    write_pages(w, w->seams + (size_t)seam * PAGE, w->first[b] / PAGE * PAGE, PAGE, NO_BUCKET);
  }
  while (w->writes)
    complete(w);
}

static void writer_open(struct writer *w, const char *output, uint64_t bytes, uint64_t memory) {
  int fd = open_direct(output, 1, bytes);
  uint64_t own = (uint64_t)DEPTH * BLOCK + (BUCKETS + 1) * (uint64_t)PAGE;
  memset(w, 0, sizeof *w);
  w->size = memory > own ? (memory - own) / (BUCKETS * TWINS) / PAGE * PAGE : 0;
  if (w->size < PAGE)
    w->size = PAGE;
  w->buffers = aligned_memory(w->size * BUCKETS * TWINS);
  w->seams = aligned_memory((BUCKETS + 1) * (size_t)PAGE);
  memset(w->buffers, 0, w->size * BUCKETS * TWINS);
  memset(w->seams, 0, (BUCKETS + 1) * (size_t)PAGE);
  check(io_uring_queue_init(MOST_WRITES, &w->ring, 0), "io_uring");
  check(io_uring_register_files(&w->ring, &fd, 1), "io_uring: the file");
}

static void writer_close(struct writer *w) {
  io_uring_queue_exit(&w->ring);
  free(w->buffers);
  free(w->seams);
}

static uint64_t checksum(const char *output, uint64_t bytes) {
  struct stream s;
  uint64_t hash = 0;
  size_t got;
  const char *block;
  stream_open(&s, output, 0, bytes);
  stream_start(&s, 0, bytes);
  while ((block = stream_next(&s, &got)))
    for (size_t i = 0; i < got / sizeof(uint32_t); i++)
      hash = hash * 31 + ((const uint32_t *)block)[i];
  stream_close(&s);
  return hash;
}

int main(int argc, char **argv) {
  static struct writer w;
  static uint64_t keys[BUCKETS];
  uint64_t bytes = 0, memory = 0;
  size_t got;
  const char *file = "", *output = "", *block;
  const struct app_option options[] = {
      {"--memory-size", &bytes, NULL}, {"--memory", &memory, NULL}, {"--file", NULL, &file}, {"--output", NULL, &output}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "scatter", help, options);
  size_t n = bytes / 2 / sizeof(uint32_t), size = n * sizeof(uint32_t);
  struct stream s;
  stream_open(&s, file, 0, size);
  writer_open(&w, output, size, memory);
  phase("data");
  stream_start(&s, 0, size);
  while ((block = stream_next(&s, &got)))
    count(keys, (const uint32_t *)block, got / sizeof(uint32_t));
  stream_start(&s, 0, size);
  place(&w, keys);
  while ((block = stream_next(&s, &got)))
    scatter(&w, (const uint32_t *)block, got / sizeof(uint32_t));
  finish(&w);
  phase("pass");
  stream_close(&s);
  writer_close(&w);
  uint64_t hash = checksum(output, size);
  phase("check");
  printf("keys: %zu\nchecksum: %016llx\n", n, (unsigned long long)hash);
  return 0;
}
