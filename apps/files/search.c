// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text search: counts the lines of each file below a directory that have a word in them, in the order of the directories.
// With --hints it says ahead what it will read: it looks at a directory's names first, and hints them all.
//
// Build:  cc -O2 search.c -lpagecast-hints -o search
// Run:    ./search [--hints] WORD DIRECTORY
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pagecast/hints.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 96 << 10 };

static int hints;
static const char *word;
static size_t word_length;
static long found, files;

struct name {
  struct name *next;
  unsigned char type;
  char text[];
};

/// Lines with the word, read through a buffer that keeps an unfinished line.
static long count_lines(int file) {
  static char buffer[BUFFER + 1];
  size_t kept = 0;
  long lines = 0;
  for (;;) {
    const ssize_t n = read(file, buffer + kept, BUFFER - kept);
    const size_t length = kept + (n > 0 ? (size_t)n : 0);
    char *at = buffer, *const end = buffer + length, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
      lines += memmem(at, (size_t)(newline - at), word, word_length) != NULL;
      at = newline + 1;
    }
    kept = (size_t)(end - at);
    if (n <= 0 || kept == BUFFER)
      return lines + (kept && memmem(at, kept, word, word_length) != NULL);
    memmove(buffer, at, kept);
  }
}

static struct name *list(const char *path) {
  struct name *first = NULL, **last = &first;
  DIR *directory = opendir(path);
  const struct dirent *entry;
  while (directory && (entry = readdir(directory)) != NULL) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
      continue;
    const size_t length = strlen(entry->d_name) + 1;
    struct name *made = malloc(sizeof *made + length);
    if (!made)
      exit(2);
    made->next = NULL;
    made->type = entry->d_type;
    memcpy(made->text, entry->d_name, length);
    *last = made;
    last = &made->next;
  }
  if (directory)
    closedir(directory);
  return first;
}

/// Returns the first name that there was no room for.
static struct name *hint(const char *path, struct name *from) {
  char whole[PATH_MAX];
  for (; from; from = from->next) {
    snprintf(whole, sizeof whole, "%s/%s", path, from->text);
    if ((from->type == DT_REG || from->type == DT_DIR) && pagecast_hint_path(whole) == 0)
      break;
  }
  return from;
}

static void search(const char *path) {
  struct name *names = list(path), *unhinted = names;
  while (names) {
    struct name *const one = names;
    char whole[PATH_MAX];
    if (hints && unhinted)
      unhinted = hint(path, unhinted);
    snprintf(whole, sizeof whole, "%s/%s", path, one->text);
    if (one->type == DT_DIR)
      search(whole);
    const int file = one->type == DT_REG ? open(whole, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
      const long lines = count_lines(file);
      printf("%s:%ld\n", whole, lines);
      found += lines;
      files++;
      close(file);
    }
    names = one->next;
    if (unhinted == one)
      unhinted = names;
    free(one);
  }
}

int main(int count, char **arguments) {
  hints = count > 1 && !strcmp(arguments[1], "--hints");
  if (count - hints != 3)
    return fprintf(stderr, "usage: search [--hints] WORD DIRECTORY\n"), 2;
  word = arguments[1 + hints];
  word_length = strlen(word);
  search(arguments[2 + hints]);
  printf("%ld lines in %ld files\n", found, files);
  return 0;
}
