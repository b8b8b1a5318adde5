// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suffix array of a text, by induced sorting: each pass goes through the array in order and stores to the places where
// the buckets of the letters before have come to. Texts have favourite letters, so that a few places are hot.
//
// Usage: suffixes LETTERS
#include "case.h"

#include <string.h>

/// A text of letters of one byte or of four; its last one is the least, and is there once.
struct text {
  const void *letter;
  int wide, letters, alphabet;
};

static inline int at(const struct text *t, int i) { return t->wide ? ((const int *)t->letter)[i] : ((const uint8_t *)t->letter)[i]; }
static inline int falls(const uint8_t *kind, int i) { return kind[i >> 3] >> (i & 7) & 1; } // the suffix is less than the next one
static inline int is_low(const uint8_t *kind, int i) { return i > 0 && falls(kind, i) && !falls(kind, i - 1); }

static void bounds(const struct text *t, int *bucket, int end) {
  int sum = 0;
  memset(bucket, 0, (size_t)t->alphabet * sizeof *bucket);
  for (int i = 0; i < t->letters; i++) bucket[at(t, i)]++;
  for (int c = 0; c < t->alphabet; c++) {
    const int count = bucket[c];
    bucket[c] = end ? sum + count : sum;
    sum += count;
  }
}

static void induce(const struct text *t, const uint8_t *kind, int *order, int *bucket) {
  const int n = t->letters;
  bounds(t, bucket, 0);
  for (int i = 0; i < n; i++) {
    const int j = order[i] - 1;
    if (j >= 0 && !falls(kind, j)) order[bucket[at(t, j)]++] = j;
  }
  bounds(t, bucket, 1);
  for (int i = n - 1; i >= 0; i--) {
    const int j = order[i] - 1;
    if (j >= 0 && falls(kind, j)) order[--bucket[at(t, j)]] = j;
  }
}

/// Whether the pieces from i and from j up to the next low place are the same.
static int same_piece(const struct text *t, const uint8_t *kind, int i, int j) {
  for (int d = 0; d < t->letters; d++) {
    if (at(t, i + d) != at(t, j + d) || falls(kind, i + d) != falls(kind, j + d)) return 0;
    if (d > 0 && (is_low(kind, i + d) || is_low(kind, j + d))) return is_low(kind, i + d) && is_low(kind, j + d);
  }
  return 0;
}

/// Names the pieces, which are in order, and puts the names at the array's end, in the text's order. Returns how many names.
static int name_pieces(const struct text *t, const uint8_t *kind, int *order, int pieces) {
  int names = 0, before = -1, n = t->letters;
  for (int i = pieces; i < n; i++) order[i] = -1;
  for (int i = 0; i < pieces; i++) {
    const int place = order[i];
    if (before < 0 || !same_piece(t, kind, place, before)) names++, before = place;
    order[pieces + place / 2] = names - 1;
  }
  for (int i = n - 1, j = n - 1; i >= pieces; i--)
    if (order[i] >= 0) order[j--] = order[i];
  return names;
}

static void sort_suffixes(const struct text *t, int *order) {
  const int n = t->letters;
  uint8_t *kind = calloc((size_t)n / 8 + 1, 1);
  int *bucket = case_memory((size_t)t->alphabet * sizeof *bucket), pieces = 0;
  kind[(n - 1) >> 3] |= (uint8_t)(1 << ((n - 1) & 7));
  for (int i = n - 2; i >= 0; i--)
    if (at(t, i) < at(t, i + 1) || (at(t, i) == at(t, i + 1) && falls(kind, i + 1))) kind[i >> 3] |= (uint8_t)(1 << (i & 7));
  bounds(t, bucket, 1);
  for (int i = 0; i < n; i++) order[i] = -1;
  for (int i = 1; i < n; i++)
    if (is_low(kind, i)) order[--bucket[at(t, i)]] = i;
  induce(t, kind, order, bucket);
  for (int i = 0; i < n; i++)
    if (is_low(kind, order[i])) order[pieces++] = order[i];
  const int names = name_pieces(t, kind, order, pieces);
  int *const shorter = order + n - pieces;
  if (names < pieces) {
    sort_suffixes(&(struct text){shorter, 1, pieces, names}, order);
  } else {
    for (int i = 0; i < pieces; i++) order[shorter[i]] = i;
  }
  for (int i = 1, j = 0; i < n; i++)
    if (is_low(kind, i)) shorter[j++] = i;
  for (int i = 0; i < pieces; i++) order[i] = shorter[order[i]];
  for (int i = pieces; i < n; i++) order[i] = -1;
  bounds(t, bucket, 1);
  for (int i = pieces - 1; i >= 0; i--) {
    const int j = order[i];
    order[i] = -1;
    order[--bucket[at(t, j)]] = j;
  }
  induce(t, kind, order, bucket);
  free(bucket);
  free(kind);
}

int main(int argc, char **argv) {
  const int letters = (int)case_argument(argc, argv, 1, 1000000);
  uint8_t *text = case_memory((size_t)letters);
  int *order = case_memory((size_t)letters * sizeof *order);
  uint64_t state = 21;
  for (int i = 0; i < letters; i++) {
    const uint32_t r = case_random(&state);
    text[i] = i >= 4096 && r % 64 ? text[i - 4096 + (int)(r % 32 == 1)] : (uint8_t)('a' + (r >> 8) % 26 * ((r >> 16) % 26) / 26);
  }
  text[letters - 1] = 0;
  const double since = case_now();
  sort_suffixes(&(struct text){text, 0, letters, 256}, order);
  case_pass(since);
  uint64_t sum = 0;
  for (int i = 0; i < letters; i++) sum = sum * 31 + (uint64_t)order[i];
  for (int i = letters / 2; i < letters / 2 + 200; i++)
    if (strcmp((char *)text + order[i], (char *)text + order[i + 1]) >= 0) return puts("not in order"), 1;
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
