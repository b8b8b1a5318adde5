// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TREE: a binary search tree, whose keys come in no order; then some are looked up, and it is walked in order.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: tree --memory-size TOTAL [--times]\n"
                           "Builds a binary tree and looks keys up; prints a sum.\n"
                           "  --memory-size TOTAL  bytes of the nodes (units K, M, G are binary)\n";

struct node {
  uint64_t key;
  struct node *left, *right;
  uint64_t value[5]; // 64 bytes in all
};

static struct node **place_of(struct node **root, uint64_t key) {
  while (*root && (*root)->key != key) root = key < (*root)->key ? &(*root)->left : &(*root)->right;
  return root;
}

/// In order, without a stack: links are turned for the time of the walk (Morris).
static uint64_t walk(struct node *at) {
  uint64_t sum = 0;
  while (at) {
    struct node *before = at->left;
    while (before && before->right && before->right != at) before = before->right;
    if (before && !before->right) {
      before->right = at;
      at = at->left;
      continue;
    }
    if (before) before->right = NULL;
    sum = sum * 31 + at->value[1];
    at = at->right;
  }
  return sum;
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, state = 88172645463325252u, sum = 0;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "tree", help, options);
  const size_t n = bytes / sizeof(struct node);
  struct node *nodes = (struct node *)allocate(n, sizeof *nodes), *root = NULL;
  for (size_t i = 0; i < n; i++) {
    const uint64_t key = next_random(&state);
    nodes[i] = (struct node){key, NULL, NULL, {i, key ^ i, 0, 0, 0}};
    *place_of(&root, key) = &nodes[i];
  }
  phase("build");
  for (size_t i = 0; i < n / 4; i++) {
    const struct node *found = *place_of(&root, next_random(&state));
    sum += found ? found->value[0] : i;
  }
  phase("find");
  sum += walk(root);
  phase("walk");
  printf("sum: %016llx\n", (unsigned long long)sum);
  return 0;
}
