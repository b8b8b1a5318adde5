// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes go nowhere but into the copy's own overlay (overlay.cpp). Files that it seems to have created are known by name.
#include "speculate/copy/state.h"
#include "speculate/shared/channel.h"

namespace pagecast::speculate {

void refuse_written(const Descriptor &file) {
  if (written_file(file.device, file.inode)) end(Ended::kWritten, __NR_mmap);
}

Written *created_file(const char *path) {
  const uint64_t name = path_hash(path);
  for (unsigned i = 0; path[0] && i < state.written; i++)
    if (state.files[i].name == name) return &state.files[i];
  return nullptr;
}

void create_file(int number, const char *path, bool truncated) {
  Written *file = created_file(path);
  if (file && truncated) empty_written(*file);
  if (!file) {
    file = begin_written(kMadeUp, state.written + 1, 0);
    file->name = path[0] ? path_hash(path) : 0;
  }
  Descriptor &made = state.table[number];
  made.device = file->device;
  made.inode = file->inode;
  made.size = file->size;
}

long write_file(int number, const char *from, int64_t length, int64_t offset) {
  Descriptor *const file = descriptor(number);
  if (!file || (file->flags & kAccessMode) == kReadOnly) return -kBadDescriptor;
  state.channel->writes++;
  touch_all(from, length);
  if (file->kind != Kind::kRegular && file->kind != Kind::kSink) return length;
  Written &written = *begin_written(file->device, file->inode, file->size);
  int64_t at = offset < 0 ? file->position : offset;
  if (offset < 0 && file->flags & kAppend) at = written.size;
  keep_written(written, at, from, length);
  file->size = written.size;
  if (offset < 0) file->position = at + length;
  return length;
}

long write_vectors(int number, const Vector *vectors, long count, int64_t offset) {
  int64_t total = 0;
  for (long i = 0; i < count; i++) {
    const int64_t length = static_cast<int64_t>(vectors[i].length);
    const long done = write_file(number, vectors[i].base, length, offset < 0 ? offset : offset + total);
    if (done < 0) return done;
    total += length;
  }
  return total;
}

} // namespace pagecast::speculate
