// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime for tests: it opens every gate, grants every nest, runs every slice to its end, stage by
// stage, and says what it was told.
//
//   FAKE_STRIP=n         iterations per strip (64)
//   FAKE_GATE=n          the gate (0: everything is entered)
//   FAKE_NULL=1          grant nothing
//   FAKE_PRINT=1         print nests, arguments, steps, addresses and globals to stderr
//   FAKE_LEAVES_EARLY=1  nests may be left by unwinding
//   FAKE_SLICES=0        check slices, but do not run them
//
// It aborts on its own accord when a ticket is closed by the program that is not the innermost open one, when a nest goes on
// after its end, when a slice is not what abi.h says, or when nests are left open at the end.
#include "pagecast/abi.h"

#include "../../../runtime/entry/nest_entry.c"
#include "../../../runtime/entry/nest_transfer.c"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPEN = 64 };
static const uint64_t max_slice = 1000000;

typedef struct open_nest {
  pagecast_ticket ticket; // first: a ticket is its nest
  const pagecast_nest *nest;
  const char *frame;
  uint64_t ends; // of its last loop, or ticks, until it is closed; 0: the program closes it
} open_nest;

static open_nest nests[MAX_OPEN];
static unsigned open_count;
static int printing, granting_nothing, leaves_early, running_slices;
static uint64_t strip = 64, gate;

// Of the slice that runs: registers, vectors with the value of the iteration at hand.
static uint64_t scalars[PAGECAST_MAX_SCALARS], vectors[PAGECAST_MAX_VECTORS];
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
  pagecast_look_at_processor();
  static int configured;
  if (!configured++) {
    strip = number("FAKE_STRIP", 64);
    gate = number("FAKE_GATE", 0);
    granting_nothing = (int)number("FAKE_NULL", 0);
    leaves_early = (int)number("FAKE_LEAVES_EARLY", 0);
    printing = (int)number("FAKE_PRINT", 0);
    running_slices = (int)number("FAKE_SLICES", 1);
    atexit(at_exit);
  }
  if (m->abi != PAGECAST_ABI_VERSION)
    abort();
  for (unsigned size = 0; m->gate && size < PAGECAST_GATES; size++) {
    if (m->gate[size] != ~0ull)
      abort();
    m->gate[size] = gate == ~0ull ? gate : (gate >> size) + (gate % (1ull << size) != 0);
  }
  if (printing)
    for (uint32_t i = 0; i < m->globals; i++)
      fprintf(stderr, "global %s %" PRIu64 "\n", m->global[i].name, m->global[i].size);
}

// A test that defines `fake_origin` gets bases, and addresses in groups without a base, relative to it.
extern char fake_origin[] __attribute__((weak));

static int64_t relative(uint32_t group, uint64_t address) {
  return (int64_t)(address - (bases[group] ? bases[group] : (uint64_t)(uintptr_t)fake_origin));
}

static void record(uint32_t group, uint64_t address) {
  if (printing)
    fprintf(stderr, "touch %u %+" PRId64 "\n", group, relative(group, address));
}

static void record_range(uint32_t group, uint64_t address, uint64_t stride, uint64_t times) {
  if (printing && times)
    fprintf(stderr, "range %u %+" PRId64 " stride=%" PRId64 " times=%" PRIu64 "\n", group, relative(group, address),
            (int64_t)stride, times);
}

static uint64_t *reg(uint16_t r) { return r & PAGECAST_VECTOR ? &vectors[r & ~PAGECAST_VECTOR] : &scalars[r]; }
static uint64_t masked(uint64_t v, unsigned width) { return width < 64 ? v & ((1ull << width) - 1) : v; }
static int64_t extended(uint64_t v, unsigned width) { return (int64_t)(v << (64 - width)) >> (64 - width); }

static double as_number(uint64_t word, unsigned width) {
  double number;
  float single;
  if (width == 64)
    return memcpy(&number, &word, sizeof number), number;
  return memcpy(&single, &word, sizeof single), single;
}

static uint64_t word(double number, unsigned width) {
  uint64_t word = 0;
  float single = (float)number;
  if (width == 64)
    memcpy(&word, &number, sizeof number);
  else
    memcpy(&word, &single, sizeof single);
  return word;
}

static double whole(double x, unsigned how) {
  const double cut = (double)(int64_t)x, rest = x > cut ? x - cut : cut - x, away = x < 0 ? cut - 1 : cut + 1;
  switch (how) {
  case PAGECAST_DOWN: return cut > x ? cut - 1 : cut;
  case PAGECAST_UP: return cut < x ? cut + 1 : cut;
  case PAGECAST_TO_EVEN: return rest > 0.5 || (rest == 0.5 && (int64_t)x % 2) ? away : cut;
  case PAGECAST_AWAY: return rest >= 0.5 ? away : cut;
  default: return cut;
  }
}

static double root(double x) {
  double r = x > 1 ? x : 1;
  for (int i = 0; i < 2000; i++)
    r = (r + x / r) / 2;
  return r;
}

static uint64_t compute_number(const pagecast_op *op, uint64_t a, uint64_t b) {
  const unsigned w = op->width;
  const double x = as_number(a, w), y = as_number(b, w);
  switch (op->code) {
  case PAGECAST_OP_FADD: return word(x + y, w);
  case PAGECAST_OP_FSUB: return word(x - y, w);
  case PAGECAST_OP_FMUL: return word(x * y, w);
  case PAGECAST_OP_FDIV: return word(x / y, w);
  case PAGECAST_OP_FMIN: return word(x < y ? x : y, w);
  case PAGECAST_OP_FMAX: return word(x > y ? x : y, w);
  case PAGECAST_OP_FSQRT: return word(root(x), w);
  case PAGECAST_OP_FWHOLE: return word(whole(x, op->extra), w);
  case PAGECAST_OP_FEQ: return x == y;
  case PAGECAST_OP_FLT: return x < y;
  case PAGECAST_OP_FLE: return x <= y;
  case PAGECAST_OP_FTOS: return (uint64_t)(int64_t)as_number(a, op->extra);
  case PAGECAST_OP_FTOU: return (uint64_t)as_number(a, op->extra);
  case PAGECAST_OP_STOF: return word((double)extended(a, op->extra), w);
  case PAGECAST_OP_UTOF: return word((double)masked(a, op->extra), w);
  case PAGECAST_OP_FTOF: return word(as_number(a, op->extra), w);
  }
  abort();
}

static uint64_t compute(const pagecast_op *op, uint64_t a, uint64_t b, uint64_t c) {
  const unsigned w = op->width;
  const int64_t x = extended(a, w), y = extended(b, w);
  switch (op->code) {
  case PAGECAST_OP_ADD: return a + b;
  case PAGECAST_OP_SUB: return a - b;
  case PAGECAST_OP_MUL: return a * b;
  case PAGECAST_OP_MADD: return a * b + c;
  case PAGECAST_OP_AND: return a & b;
  case PAGECAST_OP_OR: return a | b;
  case PAGECAST_OP_XOR: return a ^ b;
  case PAGECAST_OP_SHL: return b < w ? a << b : 0;
  case PAGECAST_OP_LSHR: return b < w ? a >> b : 0;
  case PAGECAST_OP_ASHR: return (uint64_t)(x >> (b < w ? b : w - 1));
  case PAGECAST_OP_UDIV: return b ? a / b : 0;
  case PAGECAST_OP_UREM: return b ? a % b : 0;
  case PAGECAST_OP_SDIV: return y == 0 ? 0 : y == -1 ? 0 - a : (uint64_t)(x / y);
  case PAGECAST_OP_SREM: return y == 0 || y == -1 ? 0 : (uint64_t)(x % y);
  case PAGECAST_OP_UMIN: return a < b ? a : b;
  case PAGECAST_OP_UMAX: return a > b ? a : b;
  case PAGECAST_OP_SMIN: return x < y ? a : b;
  case PAGECAST_OP_SMAX: return x > y ? a : b;
  case PAGECAST_OP_TRUNC: return a;
  case PAGECAST_OP_SEXT: return (uint64_t)extended(a, op->extra);
  case PAGECAST_OP_EQ: return a == b;
  case PAGECAST_OP_NE: return a != b;
  case PAGECAST_OP_ULT: return a < b;
  case PAGECAST_OP_ULE: return a <= b;
  case PAGECAST_OP_SLT: return x < y;
  case PAGECAST_OP_SLE: return x <= y;
  case PAGECAST_OP_SELECT: return a ? b : c;
  }
  return compute_number(op, a, b);
}

// What the iteration at hand leaves to when memory that it loads from is not there.
static sigjmp_buf *leave;

static void on_fault(int number) {
  if (leave)
    siglongjmp(*leave, 1);
  signal(number, SIG_DFL);
}

static void run_ops(const pagecast_slice *s, uint32_t begin, uint32_t end, unsigned stage);

static uint64_t carried[PAGECAST_MAX_DEPTH + 1][PAGECAST_MAX_CARRIED]; // by stage: kept from one part of a nest to the next

// An iteration of the loop of these operations is done.
static void carry(const pagecast_slice *s, uint32_t begin, uint32_t end, unsigned stage) {
  for (uint32_t i = begin; i < end; i = s->op[i].code == PAGECAST_OP_LOOP ? s->op[i].extra + 1 : i + 1)
    if (s->op[i].code == PAGECAST_OP_PREVIOUS && s->op[i].depth <= stage)
      carried[stage][s->op[i].extra] = *reg(s->op[i].b);
}

// Iterations [first, first + count) of a loop whose number is in `to`.
static void run_loop(const pagecast_slice *s, uint32_t begin, uint32_t end, uint16_t to, uint64_t first, uint64_t count,
                     unsigned stage) {
  sigjmp_buf here, *const outer = leave;
  if (count > max_slice) // garbage
    return;
  for (volatile uint64_t n = 0; n < count; n++) {
    leave = &here;
    if (sigsetjmp(here, 0))
      continue;
    *reg(to) = first + n;
    run_ops(s, begin, end, stage);
    carry(s, begin, end, stage);
  }
  leave = outer;
}

// Of the innermost search that is open.
static int found;

// One that does not end ends the iteration.
static void run_search(const pagecast_slice *s, uint32_t number, unsigned stage) {
  const pagecast_op *op = &s->op[number];
  for (unsigned step = 0; step < PAGECAST_SEARCH_STEPS; step++) {
    if (op->to != PAGECAST_NONE)
      *reg(op->to) = step;
    found = 0;
    run_ops(s, number + 1, op->extra, stage);
    const int ends = found;
    found = 0;
    if (ends)
      return;
  }
  if (leave)
    siglongjmp(*leave, 1);
}

static uint64_t load(const pagecast_op *op, uint64_t address) {
  uint64_t value = 0;
  for (unsigned byte = 0; byte < op->width / 8; byte++)
    value |= (uint64_t)((const volatile unsigned char *)(uintptr_t)address)[byte] << 8 * byte;
  return value;
}

// A hint belongs to one stage, a value to all stages from its own on.
static int executed(const pagecast_op *op, unsigned stage) {
  int hint = op->code == PAGECAST_OP_TOUCH || op->code == PAGECAST_OP_RANGE;
  return hint ? op->depth == stage : op->depth <= stage;
}

static void run_op(const pagecast_slice *s, uint32_t i, unsigned stage) {
  const pagecast_op *op = &s->op[i];
  const uint64_t a = op->a == PAGECAST_NONE ? 0 : *reg(op->a), b = op->b == PAGECAST_NONE ? 0 : *reg(op->b);
  const uint64_t c = op->c == PAGECAST_NONE ? 0 : *reg(op->c);
  const int wanted = op->c == PAGECAST_NONE || c;
  switch (op->code) {
  case PAGECAST_OP_PREVIOUS:
    *reg(op->to) = c ? a : carried[stage][op->extra];
    break;
  case PAGECAST_OP_LOAD:
    *reg(op->to) = wanted ? load(op, a) : 0;
    break;
  case PAGECAST_OP_TOUCH:
    if (wanted)
      record(op->extra, a);
    break;
  case PAGECAST_OP_RANGE:
    if (wanted)
      record_range(op->extra, a, b, *reg(op->to));
    break;
  case PAGECAST_OP_LOOP:
    if (wanted)
      run_loop(s, i + 1, op->extra, op->to, 0, a, stage);
    break;
  case PAGECAST_OP_SEARCH:
    if (wanted)
      run_search(s, i, stage);
    break;
  case PAGECAST_OP_CARRY:
    *reg(op->to) = a;
    break;
  case PAGECAST_OP_UNTIL:
    found |= a != 0;
    break;
  default:
    *reg(op->to) = masked(compute(op, a, b, c), op->code >= PAGECAST_OP_EQ && op->code <= PAGECAST_OP_SLE ? 1 : op->width);
  }
}

static int opens(const pagecast_op *op) { return op->code == PAGECAST_OP_LOOP || op->code == PAGECAST_OP_SEARCH; }

static void run_ops(const pagecast_slice *s, uint32_t begin, uint32_t end, unsigned stage) {
  for (uint32_t i = begin; i < end && !found; i = opens(&s->op[i]) ? s->op[i].extra + 1 : i + 1)
    if (executed(&s->op[i], stage))
      run_op(s, i, stage);
}

static void slice(const pagecast_nest *nest, const uint64_t *live, const uint64_t *index, uint64_t first, uint64_t count) {
  const pagecast_slice *s = nest->slice;
  const uint16_t to = s->loops ? (uint16_t)(nest->live + nest->loops - 1) : PAGECAST_VECTOR;
  for (unsigned stage = 1; stage <= s->depths; stage++) {
    // No stage, and no slice before, may have left anything that this one needs.
    memset(scalars, 0xee, sizeof scalars);
    memset(vectors, 0xee, sizeof vectors);
    memcpy(scalars, live, nest->live * sizeof *live);
    memcpy(scalars + nest->live, index, (nest->loops - 1) * sizeof *index);
    run_loop(s, 0, s->ops, to, first, count, stage);
  }
}

static void must(int holds, const char *what, uint32_t op) {
  if (holds)
    return;
  fprintf(stderr, "slice: operation %u: %s\n", op, what);
  _Exit(4);
}

static int operands(unsigned code) {
  return code == PAGECAST_OP_MADD || code == PAGECAST_OP_SELECT || code == PAGECAST_OP_PREVIOUS ? 3
         : code == PAGECAST_OP_TRUNC || code == PAGECAST_OP_SEXT || code == PAGECAST_OP_LOAD ||
                 code == PAGECAST_OP_TOUCH || code == PAGECAST_OP_LOOP || code == PAGECAST_OP_CARRY ||
                 code == PAGECAST_OP_UNTIL || code == PAGECAST_OP_FSQRT || code == PAGECAST_OP_FWHOLE ||
                 (code >= PAGECAST_OP_FTOS && code <= PAGECAST_OP_FTOF)
             ? 1
         : code == PAGECAST_OP_SEARCH
             ? 0
             : 2;
}

// Registers in [begin, end) are in range, and vectors in vector loops only; loops nest.
static void check_ops(const pagecast_nest *nest, uint32_t begin, uint32_t end, int in_vector, unsigned open) {
  const pagecast_slice *s = nest->slice;
  for (uint32_t i = begin; i < end; i++) {
    const pagecast_op *op = &s->op[i];
    const uint16_t from[] = {op->a, op->b, op->c};
    must(op->code < PAGECAST_OPS && op->code != PAGECAST_OP_END && op->code != PAGECAST_OP_FOUND, "code", i);
    must(op->depth >= 1 && op->depth <= s->depths, "depth", i);
    must(op->width >= 1 && op->width <= 64, "width", i);
    for (int k = 0; k < 3; k++)
      must(from[k] == PAGECAST_NONE ? k >= operands(op->code)
           : from[k] & PAGECAST_VECTOR ? in_vector && (from[k] & ~PAGECAST_VECTOR) < s->vectors
                                       : from[k] < s->scalars,
           "operand", i);
    int vector_result = in_vector;
    if (op->code == PAGECAST_OP_LOOP) {
      must(open < PAGECAST_MAX_SLICE_LOOPS && !in_vector, "loop", i);
      must(op->extra > i && op->extra < end && s->op[op->extra].code == PAGECAST_OP_END, "end of loop", i);
      vector_result = 1;
      for (uint32_t n = i + 1; n < op->extra; n++)
        vector_result &= s->op[n].code != PAGECAST_OP_LOOP;
      check_ops(nest, i + 1, op->extra, vector_result, open + 1);
    } else if (op->code == PAGECAST_OP_SEARCH) {
      must(op->extra > i && op->extra < end && s->op[op->extra].code == PAGECAST_OP_FOUND, "end of search", i);
      for (uint32_t n = i + 1; n < op->extra; n++)
        must(s->op[n].code != PAGECAST_OP_LOOP, "loop in a search", n);
      check_ops(nest, i + 1, op->extra, in_vector, open);
    } else if (op->code == PAGECAST_OP_TOUCH || op->code == PAGECAST_OP_RANGE) {
      must(op->extra < nest->groups && nest->group[op->extra].flags & PAGECAST_INDIRECT, "group", i);
    } else if (op->code == PAGECAST_OP_PREVIOUS) {
      must(op->extra < s->carried && s->carried <= PAGECAST_MAX_CARRIED, "number of what is handed on", i);
    }
    if (op->code == PAGECAST_OP_RANGE && !(op->to & PAGECAST_VECTOR))
      must(op->to < s->scalars, "times", i);
    else if (op->code != PAGECAST_OP_TOUCH && op->code != PAGECAST_OP_UNTIL)
      must(vector_result ? op->to & PAGECAST_VECTOR && (op->to & ~PAGECAST_VECTOR) < s->vectors : op->to < s->scalars,
           "result", i);
    if (opens(op))
      i = op->extra;
  }
}

static void check_slice(const pagecast_nest *nest) {
  const pagecast_slice *s = nest->slice;
  must(s->loops <= 1 && s->ops >= 1 && s->ops <= PAGECAST_MAX_OPS && s->depths >= 1 && s->depths <= PAGECAST_MAX_DEPTH,
       "the slice's sizes", 0);
  must(s->scalars >= nest->live + nest->loops - 1 + s->loops && s->scalars <= PAGECAST_MAX_SCALARS, "scalars", 0);
  must(s->vectors + s->loops >= 1 && s->vectors <= PAGECAST_MAX_VECTORS, "vectors", 0);
  check_ops(nest, 0, s->ops, !s->loops, 0);
}

// Runs the slice for all iterations of the nest, each innermost loop in three uneven parts.
static void run_slice(const pagecast_nest *nest, const uint64_t *args) {
  const uint64_t *group = args + nest->loops;
  const uint64_t *live = group + (uint64_t)nest->groups * (nest->loops + 1);
  uint64_t index[PAGECAST_MAX_LOOPS] = {0}, total = 1, innermost = args[nest->loops - 1];
  for (uint32_t k = 0; k < nest->loops; k++)
    if (args[k] > max_slice || (total *= args[k]) > max_slice)
      return;
  for (uint32_t g = 0; g < nest->groups; g++)
    bases[g] = group[(uint64_t)g * (nest->loops + 1)];
  const struct sigaction catching = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
  struct sigaction before[2];
  sigaction(SIGSEGV, &catching, &before[0]);
  sigaction(SIGBUS, &catching, &before[1]);
  for (;;) {
    uint64_t first = innermost / 3;
    slice(nest, live, index, 0, first);
    slice(nest, live, index, first, innermost - first);
    slice(nest, live, index, innermost, 0);
    int k = (int)nest->loops - 2;
    for (; k >= 0; k--) {
      if (++index[k] < args[k])
        break;
      index[k] = 0;
    }
    if (k < 0)
      break;
  }
  sigaction(SIGSEGV, &before[0], 0);
  sigaction(SIGBUS, &before[1], 0);
}

static const uint64_t *expand(const pagecast_nest *nest, const uint64_t *dynamic) {
  static uint64_t full[PAGECAST_MAX_LOOPS + PAGECAST_MAX_GROUPS * (1 + PAGECAST_MAX_LOOPS) + PAGECAST_MAX_LIVE];
  static uint64_t registers[PAGECAST_MAX_SCALARS];
  const uint32_t first = nest->dynamic + nest->constants, known = first + nest->prologue_ops;
  if (known > PAGECAST_MAX_SCALARS)
    abort();
  memcpy(registers, dynamic, nest->dynamic * sizeof *dynamic);
  if (nest->constants)
    memcpy(registers + nest->dynamic, nest->constant, nest->constants * sizeof *dynamic);
  for (uint32_t i = 0; i < nest->prologue_ops; i++) {
    const pagecast_op *op = &nest->prologue[i];
    if (op->to != first + i || op->a >= first + i || op->b >= first + i)
      abort();
    registers[op->to] = masked(compute(op, registers[op->a], registers[op->b], 0), op->width);
  }
  for (uint32_t i = 0; i < nest->loops + nest->groups * (1 + nest->loops) + nest->live; i++) {
    const pagecast_word *w = &nest->word[i];
    if (w->scale && w->from >= known)
      abort();
    full[i] = w->constant + (w->scale ? (uint64_t)(int64_t)w->scale * registers[w->from] : 0);
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
    fprintf(stderr, "group %u flags=%u element=%u lo=%" PRId64 " hi=%" PRId64, g, group->flags, group->element,
            group->lo, group->hi);
    if (fake_origin)
      fprintf(stderr, " base=%+" PRId64, (int64_t)(*word - (uint64_t)(uintptr_t)fake_origin));
    word++;
    for (uint32_t k = 0; k < nest->loops; k++)
      fprintf(stderr, " %" PRId64, (int64_t)*word++);
    fprintf(stderr, "\n");
  }
}

// Programs keep values in vector registers through all calls.
static void spoil_vectors(void) {
#if defined(__x86_64__)
#define SPOIL(move, r) \
  __asm__ volatile(move(r, 0) move(r, 1) move(r, 2) move(r, 3) move(r, 4) move(r, 5) move(r, 6) move(r, 7) move(r, 8) \
                   move(r, 9) move(r, 10) move(r, 11) move(r, 12) move(r, 13) move(r, 14) move(r, 15)::: \
                   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                   "xmm12", "xmm13", "xmm14", "xmm15")
#define SSE(r, n) "pcmpeqd %%" #r #n ", %%" #r #n "\n"
#define AVX(r, n) "vcmptrueps %%" #r #n ", %%" #r #n ", %%" #r #n "\n"
  if (pagecast_has_ymm)
    SPOIL(AVX, ymm);
  else
    SPOIL(SSE, xmm);
#endif
}

pagecast_opened pagecast_do_enter(const pagecast_nest *nest, const uint64_t *words, const void *frame) {
  spoil_vectors();
  if (nest->abi != PAGECAST_ABI_VERSION || nest->loops < 1 || nest->loops > PAGECAST_MAX_LOOPS || nest->groups < 1 ||
      nest->groups > PAGECAST_MAX_GROUPS || nest->ticked >= nest->loops || nest->live > PAGECAST_MAX_LIVE)
    abort();
  const uint64_t *args = expand(nest, nest->dynamic > PAGECAST_REGISTER_WORDS ? (const uint64_t *)(uintptr_t)words[0] : words);
  if (printing)
    print_nest(nest, args);
  if (nest->slice) {
    check_slice(nest);
    if (running_slices)
      run_slice(nest, args);
  }
  // Frames below the caller's have gone.
  while (leaves_early && open_count && nests[open_count - 1].frame < (const char *)frame)
    open_count--;
  uint64_t all = args[nest->ticked];
  if (granting_nothing || open_count == MAX_OPEN)
    return (pagecast_opened){all, 0};
  uint64_t ends = nest->closes;
  for (uint32_t k = 0; k < nest->ticked + !nest->strips; k++)
    ends *= args[k];
  nests[open_count] = (open_nest){{0, 1, strip}, nest, frame, ends};
  return (pagecast_opened){strip < all ? strip : all, &nests[open_count++].ticket};
}

// Nests of the same frame that were opened after it may go on: its place stays, without a nest.
static void end(open_nest *open) {
  if (printing)
    fprintf(stderr, "exit %s steps=%" PRIu64 "\n", open->nest->function, open->ticket.step);
  open->nest = 0;
  while (open_count && !nests[open_count - 1].nest)
    open_count--;
}

void pagecast_do_tick(pagecast_ticket *ticket) {
  spoil_vectors();
  open_nest *open = (open_nest *)ticket;
  if (open < nests || open >= nests + open_count || !open->nest)
    abort();
  ticket->step++;
  if (!open->nest->strips && open->ends && --open->ends == 0)
    end(open);
}

uint64_t pagecast_do_next(uint64_t at, uint64_t bound, pagecast_ticket *ticket) {
  if (!((open_nest *)ticket)->nest->strips)
    abort();
  pagecast_do_tick(ticket);
  open_nest *open = (open_nest *)ticket;
  if (at == bound && open->ends && --open->ends == 0)
    end(open);
  return bound - at < strip ? bound : at + strip;
}

void pagecast_do_exit(pagecast_ticket *ticket) {
  spoil_vectors();
  open_nest *open = (open_nest *)ticket;
  if (open_count == 0 || !open->nest || (open != &nests[open_count - 1] && !leaves_early))
    abort();
  open_count = (unsigned)(open - nests) + 1;
  end(open);
}
