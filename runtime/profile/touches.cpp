// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/touches.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>
#include <execinfo.h>
#include <link.h>

namespace pagecast::profile {

namespace {

/// Where the program's own object is.
struct Program {
  uint64_t base = 0, begin = ~uint64_t{0}, end = 0;
};

/// The program is the first object that the linker tells of.
int note_program(dl_phdr_info *info, size_t, void *to) {
  Program &program = *static_cast<Program *>(to);
  program.base = info->dlpi_addr;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto &part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    program.begin = std::min<uint64_t>(program.begin, info->dlpi_addr + part.p_vaddr);
    program.end = std::max<uint64_t>(program.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return 1;
}

constinit Program program;

} // namespace

void prepare_callers() {
  dl_iterate_phdr(note_program, &program);
  void *frames[2];
  backtrace(frames, 2);
}

const void *caller_in_program() {
  constexpr int kMost = 48;
  void *frames[kMost];
  const int n = backtrace(frames, kMost);
  for (int i = 0; i < n; ++i)
    if (const auto at = reinterpret_cast<uint64_t>(frames[i]); at >= program.begin && at < program.end) return frames[i];
  return nullptr;
}

InProgram place_of_address(const void *address) {
  // The call lies before where it returns to, which may be the next function's beginning.
  return {os::program_path(), reinterpret_cast<uint64_t>(address) - program.base - 1};
}

namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

bool goes_through_indices(const pagecast_group &group) { return group.flags & PAGECAST_INDIRECT; }

uint64_t length(const char *text) { return text ? strlen(text) : 0; }
char *copied(char *to, const char *text) {
  const uint64_t n = length(text);
  if (n) memcpy(to, text, n);
  to[n] = 0;
  return to + n + 1;
}

} // namespace

bool Touches::start(uint64_t now_ns, bool leaves_out_repeated) {
  leaves_out_repeated_ = leaves_out_repeated;
  started_ns_ = now_ns;
  seen_ = static_cast<Seen *>(os::reserve(kSeen * sizeof(Seen)));
  return seen_ != nullptr;
}

/// In the child of a fork, another part has begun, which knows no phases.
void Touches::follow_part() {
  if (generation_ == part_.generation()) return;
  generation_ = part_.generation();
  phases_ = 0;
}

/// The nest's own word has its number, and the part's generation.
uint32_t Touches::nest(const pagecast_nest &d) {
  follow_part();
  const uint64_t word = __atomic_load_n(d.cache, __ATOMIC_RELAXED);
  if (word >> 32 == generation_) return static_cast<uint32_t>(word);
  if (phases_ == kMostPhases) return kNone;
  auto *r = part_.append<core::NestRecord>(core::RecordKind::kNest, length(d.file) + length(d.function) + 2);
  if (!r) return kNone;
  r->number = phases_++;
  r->line = d.line;
  r->references = r->unseen = 0;
  for (unsigned g = 0; g < d.groups; ++g) {
    if (d.group[g].flags & PAGECAST_COMPARED) continue;
    ++r->references;
    r->unseen += goes_through_indices(d.group[g]);
  }
  copied(copied(r->text, d.file), d.function);
  __atomic_store_n(d.cache, uint64_t{generation_} << 32 | r->number, __ATOMIC_RELAXED);
  return r->number;
}

uint32_t Touches::caller(const void *address) {
  follow_part();
  Caller *found = nullptr;
  for (unsigned i = 0; i < caller_count_ && !found; ++i)
    if (callers_[i].address == address) found = &callers_[i];
  if (found && found->generation == generation_) return found->number;
  if (!found && caller_count_ == kMostCallers) return kNone;
  const InProgram place = place_of_address(address);
  auto *r = part_.append<core::CallerRecord>(core::RecordKind::kCaller, length(place.program) + 1);
  if (!r) return kNone;
  r->number = phases_++;
  r->offset = place.offset;
  copied(r->program, place.program);
  if (!found) found = &callers_[caller_count_++];
  *found = {address, generation_, r->number};
  return r->number;
}

bool Touches::announce(uint32_t data_set) {
  DataSet &set = sets_[data_set];
  if (set.announced == part_.generation()) return true;
  auto *r = part_.append<core::DataSetRecord>(core::RecordKind::kDataSet, length(set.path) + 1);
  if (!r) return false;
  r->number = data_set;
  r->bytes = set.bytes;
  copied(r->path, set.path);
  set.announced = part_.generation();
  return true;
}

bool Touches::is_repeated(uint64_t key, uint64_t now_ns) {
  Seen &seen = seen_[key % kSeen];
  if (seen.key == key && now_ns - seen.at_ns < (now_ns - started_ns_) / kEpochs) return true;
  seen = {key, now_ns};
  return false;
}

uint64_t *Touches::add(uint32_t phase, uint32_t data_set, const core::Reference &touched, core::Stored stored, uint64_t now_ns) {
  const auto thread = static_cast<uint32_t>(os::thread_id());
  const auto block = static_cast<int64_t>(core::kStorageBlock);
  uint64_t key =
      mixed(mixed(uint64_t{part_.generation()} << 32 | thread, phase), uint64_t{data_set} << 2 | static_cast<uint64_t>(stored));
  key = mixed(mixed(key, static_cast<uint64_t>(touched.first / block)),
              static_cast<uint64_t>((touched.first + static_cast<int64_t>(touched.span)) / block));
  for (uint32_t k = 0; k < touched.loops; ++k)
    key = mixed(mixed(key, touched.trips[k]), static_cast<uint64_t>(touched.stride[k]));
  if ((leaves_out_repeated_ && is_repeated(key, now_ns)) || !announce(data_set)) return nullptr;
  auto *r = part_.append<core::TouchRecord>(core::RecordKind::kTouch, 16 * touched.loops);
  if (!r) return nullptr;
  r->thread = thread;
  r->phase = phase;
  r->data_set = data_set;
  r->loops = static_cast<uint16_t>(touched.loops);
  r->stored = static_cast<uint16_t>(stored);
  r->begin_ns = now_ns;
  r->end_ns = 0;
  r->first = touched.first;
  r->span = touched.span;
  for (uint32_t k = 0; k < touched.loops; ++k) {
    r->trips_and_strides[2 * k] = touched.trips[k];
    r->trips_and_strides[2 * k + 1] = static_cast<uint64_t>(touched.stride[k]);
  }
  part_.commit(now_ns);
  return &r->end_ns;
}

} // namespace pagecast::profile
