// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime for tests: it opens every gate, grants every nest, runs every slice to its end, and
// says what it was told.
//
//   FAKE_STRIP=n         iterations per strip (64)
//   FAKE_GATE=n          the gate (0: everything is entered)
//   FAKE_NULL=1          grant nothing
//   FAKE_PRINT=1         print nests, arguments, steps, addresses and globals to stderr
//   FAKE_LEAVES_EARLY=1  nests may be left by unwinding
//
// It aborts on its own accord when a ticket is closed that is not the innermost open one, or when
// nests are left open at the end.
#include "pagecast/abi.h"

#include "../../../runtime/nest_entry.c"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPEN = 64 };
static const uint64_t max_slice = 1000000;

typedef struct open_nest {
  pagecast_ticket ticket; // first: a ticket is its nest
  const pagecast_nest *nest;
  const char *frame;
  uint64_t ticks;
} open_nest;

static open_nest nests[MAX_OPEN];
static unsigned open_count;
static int printing, granting_nothing, leaves_early;
static uint64_t strip = 64, gate;

// Of the slice that runs.
static pagecast_touch touches[PAGECAST_MAX_GROUPS];
static uint64_t bases[PAGECAST_MAX_GROUPS];

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, 0, 0) : otherwise;
}

static void at_exit(void) {
  if (open_count && !leaves_early) {
    fprintf(stderr, "%u nests left open\n", open_count);
    _Exit(3);
  }
}

void __pagecast_register(const pagecast_module *m) {
  static int configured;
  if (!configured++) {
    strip = number("FAKE_STRIP", 64);
    gate = number("FAKE_GATE", 0);
    granting_nothing = (int)number("FAKE_NULL", 0);
    leaves_early = (int)number("FAKE_LEAVES_EARLY", 0);
    printing = (int)number("FAKE_PRINT", 0);
    atexit(at_exit);
  }
  if (m->abi != PAGECAST_ABI_VERSION || *m->gate != ~0ull)
    abort();
  *m->gate = gate;
  if (printing)
    for (uint32_t i = 0; i < m->globals; i++)
      fprintf(stderr, "global %s %" PRIu64 "\n", m->global[i].name, m->global[i].size);
}

static void record(pagecast_touch *touch, uint64_t address) {
  long number = touch - touches;
  if (printing)
    fprintf(stderr, "touch %ld %+" PRId64 "\n", number, (int64_t)(address - bases[number]));
}

// One iteration after the other, so that the order is that of an emitted slice.
static void run_forms(const pagecast_nest *nest, const uint64_t *args, const uint64_t *index, uint64_t first,
                      uint64_t count) {
  for (uint64_t i = first; i < first + count; i++)
    for (uint32_t f = 0; f < nest->forms; f++) {
      const pagecast_form *form = &nest->form[f];
      const uint64_t *from = args + nest->loops + (uint64_t)form->index_group * (nest->loops + 1);
      uint64_t at = from[0] + (uint64_t)form->index_offset;
      for (uint32_t k = 0; k < nest->loops; k++)
        at += from[1 + k] * (k + 1 == nest->loops ? i : index[k]);
      uint64_t value = 0;
      memcpy(&value, (const void *)(uintptr_t)at, form->width);
      if (form->is_signed && form->width < 8 && value >> (form->width * 8 - 1))
        value |= ~0ull << form->width * 8;
      const uint64_t target = args[nest->loops + (uint64_t)form->group * (nest->loops + 1)];
      record(&touches[f], target + value * (uint64_t)form->scale + (uint64_t)form->offset);
    }
}

static void slice(const pagecast_nest *nest, const uint64_t *args, const uint64_t *live, const uint64_t *index,
                  uint64_t first, uint64_t count) {
  if (nest->slice)
    nest->slice(live, index, first, count, touches);
  else
    run_forms(nest, args, index, first, count);
}

// Runs the slice for all iterations of the nest, each innermost loop in three uneven parts.
static void run_slice(const pagecast_nest *nest, const uint64_t *args) {
  static const uint8_t nothing_resident[1];
  const uint64_t *group = args + nest->loops;
  const uint64_t *live = group + (uint64_t)nest->groups * (nest->loops + 1);
  uint64_t index[PAGECAST_MAX_LOOPS] = {0}, total = 1, innermost = args[nest->loops - 1];
  unsigned indirect = 0;
  for (uint32_t k = 0; k < nest->loops; k++)
    if (args[k] > max_slice || (total *= args[k]) > max_slice)
      return;
  for (uint32_t g = 0; g < nest->groups; g++)
    if (nest->group[g].flags & PAGECAST_INDIRECT) {
      touches[indirect] = (pagecast_touch){0, ~0ull, nothing_resident, 63, record};
      bases[indirect++] = group[(uint64_t)g * (nest->loops + 1)];
    }
  for (;;) {
    uint64_t first = innermost / 3;
    slice(nest, args, live, index, 0, first);
    slice(nest, args, live, index, first, innermost - first);
    slice(nest, args, live, index, innermost, 0);
    int k = (int)nest->loops - 2;
    for (; k >= 0; k--) {
      if (++index[k] < args[k])
        break;
      index[k] = 0;
    }
    if (k < 0)
      return;
  }
}

static const uint64_t *expand(const pagecast_nest *nest, const uint64_t *dynamic) {
  static uint64_t full[PAGECAST_MAX_LOOPS + PAGECAST_MAX_GROUPS * (1 + PAGECAST_MAX_LOOPS) + PAGECAST_MAX_LIVE];
  for (uint32_t i = 0; i < nest->loops + nest->groups * (1 + nest->loops) + nest->live; i++) {
    const pagecast_word *w = &nest->word[i];
    if (w->scale && w->from >= nest->dynamic)
      abort();
    full[i] = w->constant + (w->scale ? (uint64_t)(int64_t)w->scale * dynamic[w->from] : 0);
  }
  return full;
}

static void print_nest(const pagecast_nest *nest, const uint64_t *args) {
  fprintf(stderr, "enter %s loops=%u ticked=%u strips=%u trips", nest->function, nest->loops, nest->ticked,
          nest->strips);
  for (uint32_t k = 0; k < nest->loops; k++)
    fprintf(stderr, " %" PRIu64, args[k]);
  fprintf(stderr, "\n");
  const uint64_t *word = args + nest->loops;
  for (uint32_t g = 0; g < nest->groups; g++) {
    const pagecast_group *group = &nest->group[g];
    extern char fake_origin[] __attribute__((weak));
    fprintf(stderr, "group %u flags=%u element=%u lo=%" PRId64 " hi=%" PRId64, g, group->flags, group->element,
            group->lo, group->hi);
    // A test that defines `fake_origin` gets its bases relative to it.
    if (fake_origin)
      fprintf(stderr, " base=%+" PRId64, (int64_t)(*word - (uint64_t)(uintptr_t)fake_origin));
    word++;
    for (uint32_t k = 0; k < nest->loops; k++)
      fprintf(stderr, " %" PRId64, (int64_t)*word++);
    fprintf(stderr, "\n");
  }
}

pagecast_opened pagecast_do_enter(const pagecast_nest *nest, const uint64_t *words, const void *frame) {
  if (nest->abi != PAGECAST_ABI_VERSION || nest->loops < 1 || nest->loops > PAGECAST_MAX_LOOPS || nest->groups < 1 ||
      nest->groups > PAGECAST_MAX_GROUPS || nest->ticked >= nest->loops || nest->live > PAGECAST_MAX_LIVE)
    abort();
  const uint64_t *args = expand(nest, nest->dynamic > PAGECAST_REGISTER_WORDS ? (const uint64_t *)(uintptr_t)words[0] : words);
  if (printing)
    print_nest(nest, args);
  if (nest->slice || nest->forms)
    run_slice(nest, args);
  // Frames below the caller's have gone.
  while (leaves_early && open_count && nests[open_count - 1].frame < (const char *)frame)
    open_count--;
  uint64_t all = args[nest->ticked];
  if (granting_nothing || open_count == MAX_OPEN)
    return (pagecast_opened){0, all};
  nests[open_count] = (open_nest){{0, 1, strip}, nest, frame, 0};
  return (pagecast_opened){&nests[open_count++].ticket, strip < all ? strip : all};
}

void pagecast_do_tick(pagecast_ticket *ticket) {
  open_nest *open = (open_nest *)ticket;
  if (open < nests || open >= nests + open_count)
    abort();
  ticket->step++;
}

uint64_t pagecast_do_next(pagecast_ticket *ticket, uint64_t left) {
  if (!((open_nest *)ticket)->nest->strips)
    abort();
  pagecast_do_tick(ticket);
  if (left == 0 && ((open_nest *)ticket)->nest->loops == 1)
    pagecast_do_exit(ticket);
  return left < strip ? left : strip;
}

void pagecast_do_exit(pagecast_ticket *ticket) {
  if (open_count == 0 || (ticket != &nests[open_count - 1].ticket && !leaves_early))
    abort();
  open_nest *open = (open_nest *)ticket;
  if (printing)
    fprintf(stderr, "exit %s steps=%" PRIu64 "\n", open->nest->function, ticket->step);
  open_count = (unsigned)(open - nests);
}
