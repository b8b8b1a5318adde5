// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes go nowhere. Of regular files it is remembered where, so that the copy does not go on with stale data.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

void remember_written(const Descriptor &file, int64_t begin, int64_t end_) {
  for (unsigned i = 0; i < state.written; i++) {
    Written &known = state.files[i];
    if (known.inode != file.inode || known.device != file.device) continue;
    if (begin < known.begin) known.begin = begin;
    if (end_ > known.end) known.end = end_;
    return;
  }
  if (state.written == kWritten) end(Ended::kWritten, __NR_write);
  state.files[state.written++] = {file.device, file.inode, begin, end_};
}

} // namespace

void refuse_written(const Descriptor &file, int64_t offset, int64_t length) {
  for (unsigned i = 0; i < state.written; i++) {
    const Written &known = state.files[i];
    if (known.inode == file.inode && known.device == file.device && offset < known.end && known.begin < offset + length)
      end(Ended::kWritten, __NR_read);
  }
}

long write_file(int number, int64_t length, int64_t offset) {
  Descriptor *const file = descriptor(number);
  if (!file || (file->flags & kAccessMode) == kReadOnly) return -kBadDescriptor;
  state.channel->writes++;
  int64_t at = offset < 0 ? file->position : offset;
  if (offset < 0 && file->flags & kAppend) at = file->size;
  if (file->kind == Kind::kRegular) remember_written(*file, at, at + length);
  if (at + length > file->size) file->size = at + length;
  if (offset < 0) file->position = at + length;
  return length;
}

long write_vectors(int number, const Vector *vectors, long count, int64_t offset) {
  int64_t total = 0;
  for (long i = 0; i < count; i++) total += static_cast<int64_t>(vectors[i].length);
  return write_file(number, total, offset);
}

} // namespace pagecast::speculate
