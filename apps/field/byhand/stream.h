// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a person writes who knows that the data do not fit in memory: a file in large blocks, in order, with many
// direct reads under way, and each block written back from where it is if it was changed.
//
//   struct stream s;
//   stream_open(&s, file, writes, bytes);
//   stream_start(&s, first, end);       // byte offsets; may be called again when the last block has been taken
//   while ((block = stream_next(&s, &bytes))) ...
//   stream_close(&s);                   // waits for the writes
#ifndef APPS_FIELD_BYHAND_STREAM_H
#define APPS_FIELD_BYHAND_STREAM_H

#include "../data.h"

#include <liburing.h>

enum { PAGE = 4096, BLOCK = 1 << 20, DEPTH = 32 };

struct stream {
  struct io_uring ring;
  char *buffers;        // DEPTH blocks
  uint64_t end;         // of the range
  uint64_t asked;       // up to here blocks are being read
  uint64_t taken;       // up to here blocks were handed out
  unsigned head, tail;  // blocks [head, tail) of the range's order are in buffer (number % DEPTH)
  int state[DEPTH];     // of a buffer
  uint64_t at[DEPTH];   // the block's offset
  int writes, holding;  // holding: the caller has block head - 1
};

enum { FREE, READING, READY, WRITING };

static inline void check(int error, const char *what) {
  if (error < 0)
    fail(what, strerror(-error));
}

static inline char *aligned_memory(size_t bytes) {
  char *memory = (char *)aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
  if (!memory)
    fail("no memory", strerror(ENOMEM));
  return memory;
}

/// A file's first `bytes` for direct I/O; it must be at least as long, rounded up to whole pages.
static inline int open_direct(const char *file, int writes, uint64_t bytes) {
  return open_file(file, (writes ? O_RDWR : O_RDONLY) | O_DIRECT, (bytes + PAGE - 1) / PAGE * PAGE);
}

static inline void stream_open(struct stream *s, const char *file, int writes, uint64_t bytes) {
  memset(s, 0, sizeof *s);
  int fd = open_direct(file, writes, bytes);
  s->writes = writes;
  s->buffers = aligned_memory((size_t)DEPTH * BLOCK);
  memset(s->buffers, 0, (size_t)DEPTH * BLOCK);
  struct iovec all = {s->buffers, (size_t)DEPTH * BLOCK};
  check(io_uring_queue_init(2 * DEPTH, &s->ring, 0), "io_uring");
  check(io_uring_register_files(&s->ring, &fd, 1), "io_uring: the file");
  check(io_uring_register_buffers(&s->ring, &all, 1), "io_uring: the buffers");
}

static inline unsigned stream_bytes(const struct stream *s, uint64_t at) {
  return (unsigned)(s->end - at < BLOCK ? s->end - at : BLOCK);
}

static inline void stream_submit(struct stream *s, unsigned i, int state) {
  struct io_uring_sqe *entry = io_uring_get_sqe(&s->ring);
  char *buffer = s->buffers + (size_t)i * BLOCK;
  unsigned bytes = (stream_bytes(s, s->at[i]) + PAGE - 1) / PAGE * PAGE;
  if (state == READING)
    io_uring_prep_read_fixed(entry, 0, buffer, bytes, s->at[i], 0);
  else
    io_uring_prep_write_fixed(entry, 0, buffer, bytes, s->at[i], 0);
  io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(entry, i);
  s->state[i] = state;
}

/// Reads ahead into whatever buffers are free.
static inline void stream_fill(struct stream *s) {
  while (s->asked < s->end && s->tail - s->head + (unsigned)s->holding < DEPTH && s->state[s->tail % DEPTH] == FREE) {
    unsigned i = s->tail++ % DEPTH;
    s->at[i] = s->asked;
    stream_submit(s, i, READING);
    s->asked += stream_bytes(s, s->asked);
  }
  check(io_uring_submit(&s->ring), "io_uring: submission");
}

/// Waits for one completion, and takes what else there is.
static inline void stream_wait(struct stream *s) {
  struct io_uring_cqe *done;
  check(io_uring_wait_cqe(&s->ring, &done), "io_uring: completion");
  do {
    unsigned i = (unsigned)io_uring_cqe_get_data64(done);
    check(done->res, "input or output");
    if ((unsigned)done->res < stream_bytes(s, s->at[i]))
      fail("input or output", "short");
    s->state[i] = s->state[i] == READING ? READY : FREE;
    io_uring_cqe_seen(&s->ring, done);
  } while (io_uring_peek_cqe(&s->ring, &done) == 0);
}

static inline void stream_start(struct stream *s, uint64_t first, uint64_t end) {
  s->asked = s->taken = first;
  s->end = end;
  stream_fill(s);
}

/// The next block, until the call after it; NULL at the end of the range.
static inline char *stream_next(struct stream *s, size_t *bytes) {
  if (s->holding) {
    unsigned i = (s->head - 1) % DEPTH;
    s->holding = 0;
    if (s->writes)
      stream_submit(s, i, WRITING);
    else
      s->state[i] = FREE;
  }
  stream_fill(s);
  if (s->taken >= s->end)
    return NULL;
  unsigned i = s->head % DEPTH;
  while (s->state[i] != READY || s->head == s->tail) {
    stream_wait(s);
    stream_fill(s);
  }
  s->head++;
  s->holding = 1;
  *bytes = stream_bytes(s, s->at[i]);
  s->taken += *bytes;
  return s->buffers + (size_t)i * BLOCK;
}

static inline void stream_close(struct stream *s) {
  for (unsigned i = 0; i < DEPTH; i++)
    while (s->state[i] == WRITING || s->state[i] == READING)
      stream_wait(s);
  io_uring_unregister_buffers(&s->ring); // queue_exit lets go of them later, when the next stream has its own
  io_uring_queue_exit(&s->ring);
  free(s->buffers);
}

#endif
