// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/statistics.h"

#include "pagecast/pagecast.h"
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/file_systems.h"
#include "runtime/state/locks.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pagecast {

static constexpr uint64_t MemoryMakeUp::*kKinds[] = {&MemoryMakeUp::limit,   &MemoryMakeUp::program, &MemoryMakeUp::tables,
                                                     &MemoryMakeUp::staging, &MemoryMakeUp::margins, &MemoryMakeUp::shelf,
                                                     &MemoryMakeUp::fixed,   &MemoryMakeUp::free};

uint64_t StallTimes::sum() const {
  uint64_t out = 0;
  for (const uint64_t one : ns) out += one;
  return out;
}

uint32_t Statistics::sites_of(const pagecast_nest *nest) {
  if (const uint64_t known = site_in(__atomic_load_n(nest->cache, __ATOMIC_ACQUIRE))) return static_cast<uint32_t>(known - 1);
  Guard guard(locks::sites);
  if (const uint64_t known = site_in(__atomic_load_n(nest->cache, __ATOMIC_RELAXED))) return static_cast<uint32_t>(known - 1);
  uint32_t first = sites.load();
  if (first + nest->groups > kSites) first = 0;
  else {
    for (uint32_t g = 0; g < nest->groups; ++g) {
      site[first + g].nest = nest;
      site[first + g].group = g;
    }
    sites.store(first + nest->groups, std::memory_order_release);
  }
  __atomic_store_n(nest->cache, uint64_t{first} + 1, __ATOMIC_RELEASE);
  return first;
}

void Statistics::note(uint64_t ms, uint64_t used) {
  if (ms < next_sample_ms) return;
  if (samples == kSamples) {
    for (unsigned i = 0; i < kSamples / 2; ++i) sample[i] = sample[2 * i];
    samples = kSamples / 2;
    sample_every_ms *= 2;
  }
  sample[samples++] = {ms, budget_bytes, used};
  next_sample_ms = ms + sample_every_ms;
  if (evicted_clean + evicted_dirty == 0) return;
  ++sums;
  for (uint64_t MemoryMakeUp::*kind : kKinds) sum.*kind += now.*kind;
}

namespace {

/// Appends to a file through a buffer; the heap may be the thing that is being described.
class Writer {
public:
  explicit Writer(int fd) : fd_(fd) {}
  ~Writer() { flush(); }
  void put(const char *format, ...) __attribute__((format(printf, 2, 3))) {
    if (length_ > sizeof buffer_ - 512) flush();
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(buffer_ + length_, sizeof buffer_ - length_, format, arguments);
    va_end(arguments);
    if (n > 0)
      length_ += static_cast<size_t>(n) < sizeof buffer_ - length_ ? static_cast<size_t>(n) : sizeof buffer_ - length_ - 1;
  }
  void text(const char *s) {
    put("\"");
    for (unsigned i = 0; s && s[i] && i < kLongestText; ++i) {
      const auto c = static_cast<unsigned char>(s[i]);
      if (c == '"' || c == '\\') put("\\%c", c);
      else if (c < 0x20) put("\\u%04x", c);
      else put("%c", c);
    }
    put("\"");
  }
  void flush() {
    if (const int error = os::append(fd_, buffer_, length_)) failed_ = -error;
    length_ = 0;
  }
  int failed() const { return failed_; }

private:
  static constexpr unsigned kLongestText = 4096;
  int fd_;
  int failed_ = 0;
  size_t length_ = 0;
  char buffer_[8192];
};

using ull = unsigned long long;

struct Totals {
  uint64_t hit = 0, late = 0, unused = 0, zero = 0, overwritten = 0, released = 0, rescued = 0, prefetched = 0;
};

/// A page read by a hint that was neither late nor evicted before its turn was there when the program came.
uint64_t hits(const SiteStatistics &s) {
  const uint64_t not_hits = s.late + s.unused;
  return s.prefetched > not_hits ? s.prefetched - not_hits : 0;
}

/// The sites of nests follow each other; that of history is the last of the table.
uint32_t next_site(const Statistics &s, uint32_t i) {
  return i < Statistics::kHistory && i + 1 >= s.sites.load() ? Statistics::kHistory : i + 1;
}

Totals total(const Statistics &s) {
  Totals t;
  for (uint32_t i = 0; i <= Statistics::kHistory; i = next_site(s, i)) {
    const SiteStatistics &site = s.site[i];
    t.hit += hits(site);
    t.prefetched += site.prefetched;
    t.late += site.late;
    t.unused += site.unused;
    t.zero += site.zero_filled;
    t.overwritten += site.overwritten;
    t.released += site.released;
    t.rescued += site.rescued;
  }
  return t;
}

void put_stores(Writer &w, const Statistics &s) {
  w.put("  \"stores\": [");
  for (unsigned i = 0; i < s.stores; ++i) {
    const Statistics::Store &store = s.store[i];
    w.put(i ? ", {\"name\": " : "{\"name\": ");
    w.text(store.name);
    w.put(", \"read_bytes\": %llu, \"written_bytes\": %llu, \"reads\": %llu, \"writes\": %llu, \"failed\": %llu}",
          ull(store.read_bytes), ull(store.written_bytes), ull(store.reads), ull(store.writes), ull(store.failed));
  }
  w.put("],\n");
}

void put_sites(Writer &w, const Statistics &s) {
  w.put("  \"sites\": [");
  const char *separator = "";
  for (uint32_t i = 0; i <= Statistics::kHistory; i = next_site(s, i)) {
    const SiteStatistics &site = s.site[i];
    if (!site.nest && !site.prefetched && !site.zero_filled && !site.overwritten && !site.released) continue;
    const pagecast_group *group = site.nest ? &site.nest->group[site.group] : nullptr;
    if (group && (group->flags & PAGECAST_COMPARED)) continue; // never hinted
    w.put("%s\n    {\"file\": ", separator);
    w.text(site.nest ? site.nest->file : "");
    w.put(", \"function\": ");
    w.text(site.nest ? site.nest->function : "");
    w.put(", \"line\": %u, \"column\": %u, \"name\": ", group ? group->line : 0, group ? group->column : 0);
    w.text(group ? group->name : i == Statistics::kHistory ? "history" : "by hand");
    w.put(", \"indirect\": %s", group && (group->flags & PAGECAST_INDIRECT) ? "true" : "false");
    w.put(", \"entries\": %llu, \"prefetched\": %llu, \"hit\": %llu, \"late\": %llu, \"unused\": %llu, \"zero_filled\": %llu, "
          "\"overwritten\": %llu, \"released\": %llu, \"rescued\": %llu, \"backed_off\": %llu, \"probes\": %llu}",
          ull(site.entries), ull(site.prefetched), ull(hits(site)), ull(site.late), ull(site.unused), ull(site.zero_filled),
          ull(site.overwritten), ull(site.released), ull(site.rescued), ull(__atomic_load_n(&site.backed_off, __ATOMIC_RELAXED)),
          ull(__atomic_load_n(&site.probes, __ATOMIC_RELAXED)));
    separator = ",";
  }
  w.put("\n  ]\n");
}

/// Shares and bytes are means over samples. What is none of these kinds is other: the C library's, other processes', page cache.
void put_make_up(Writer &w, const Statistics &s) {
  MemoryMakeUp m = s.sum;
  for (uint64_t MemoryMakeUp::*kind : kKinds) m.*kind /= s.sums ? s.sums : 1;
  const uint64_t known = m.program + m.tables + m.staging + m.margins + m.shelf + m.fixed + m.free;
  w.put(
      "\"limit_bytes\": %llu, \"program_share\": %.4f, \"overhead\": {\"tables\": %llu, \"staging\": %llu, \"margins\": %llu, \"shelf\": %llu, "
      "\"runtime\": %llu, \"free\": %llu, \"other\": %llu}",
      ull(m.limit), m.limit ? static_cast<double>(m.program) / static_cast<double>(m.limit) : 0.0, ull(m.tables), ull(m.staging),
      ull(m.margins), ull(m.shelf), ull(m.fixed), ull(m.free), ull(m.limit > known ? m.limit - known : 0));
}

/// Seconds. Null for waits that nobody measured: zero would pass for an answer.
void put_time(Writer &w, const Statistics &s, double wall_s) {
  const os::UsedTime used = sandboxed() ? os::UsedTime{} : os::used_time();
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  w.put(",\n  \"time\": {\"wall_s\": %.6f, \"user_s\": %.6f, \"system_s\": %.6f, ", wall_s, used.user_s, used.system_s);
  if (s.stalls_are_measured) w.put("\"stall_s\": %.6f", seconds(s.stall_ns.sum()));
  else w.put("\"stall_s\": null");
  w.put(", \"pager_cpu_s\": %.6f},\n", seconds(s.pager_cpu_ns));
  w.put("  \"polling\": {\"looks\": %llu, \"found\": %llu, \"s\": %.6f},\n", ull(s.polling.looks), ull(s.polling.found),
        seconds(s.polling.ns));
  w.put("  \"attendance\": {\"begun\": %llu, \"followed\": %llu, \"disturbed\": %llu, \"s\": %.6f},\n  \"stall_by_kind\": ",
        ull(s.attendance.begun), ull(s.attendance.followed), ull(s.attendance.disturbed), seconds(s.attendance.ns));
  if (!s.stalls_are_measured) return w.put("null,\n");
  w.put("{\"late_s\": %.6f, \"not_prefetched_s\": %.6f, \"zero_fill_s\": %.6f, \"protect_s\": %.6f, \"room_s\": %.6f},\n",
        seconds(s.stall_ns[StallKind::kLate]), seconds(s.stall_ns[StallKind::kNotPrefetched]),
        seconds(s.stall_ns[StallKind::kZeroFill]), seconds(s.stall_ns[StallKind::kProtect]),
        seconds(s.stall_ns[StallKind::kRoom]));
}

/// Slices that were run: what they cost, and what they brought as far as it was compared.
void put_slices(Writer &w, const Statistics &s) {
  w.put("  \"slices\": [");
  for (uint32_t i = 0; i < s.slices.load(std::memory_order_acquire); ++i) {
    const SliceStatistics &slice = s.slice[i];
    const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
    w.put("%s\n    {\"file\": ", i ? "," : "");
    w.text(slice.nest->file);
    w.put(", \"function\": ");
    w.text(slice.nest->function);
    w.put(", \"line\": %u, \"cpu_s\": %.6f, \"pager_cpu_s\": %.6f, \"waited_s\": %.6f, ", slice.nest->line,
          seconds(slice.cpu_ns.load()), seconds(slice.pager_ns.load()), seconds(slice.waited_ns.load()));
    if (slice.trials) w.put("\"saved_s\": %.6f, ", static_cast<double>(slice.saved_ns) * 1e-9);
    else w.put("\"saved_s\": null, ");
    w.put("\"trials\": %llu, \"switched_off\": %llu, \"off\": %s}", ull(slice.trials), ull(slice.switched_off),
          slice.is_off ? "true" : "false");
  }
  w.put("\n  ],\n");
}

void put_files(Writer &w, const Statistics &s) {
  const Statistics::Files &f = s.files;
  w.put("  \"back_end\": ");
  w.text(s.back_end);
  w.put(
      ",\n  \"files\": {\"regions\": %llu, \"region_bytes\": %llu, \"left_alone\": %llu, \"resident_at_start\": %llu, \"hinted_pages\": %llu, "
      "\"memory_bytes\": %llu, \"memory_left\": %llu, \"refused\": %llu, \"calls\": %llu, ",
      ull(f.regions.load()), ull(f.region_bytes.load()), ull(f.left_alone.load()), ull(f.resident_at_start.load()), ull(f.hinted),
      ull(f.memory_bytes.load()), ull(f.memory_left.load()), ull(f.refused), ull(f.calls));
  w.put("\"systems\": {");
  for (unsigned i = 0; i < kFileSystems && file_systems[i].name.load(); ++i) {
    w.put(i ? ", " : "");
    w.text(file_systems[i].name.load());
    w.put(": %llu", ull(file_systems[i].mappings.load()));
  }
  w.put(
      "}, \"streamed\": %llu, \"large_reads\": %llu, \"renewed_pages\": %llu, \"released_pages\": %llu, \"given_up_pages\": %llu, \"passed_pages\": %llu, \"read_behind_bytes\": %llu, \"patterns\": %llu, \"strided_pages\": %llu, \"found_pages\": %llu, \"reclaimed_pages\": %llu, "
      "\"kept_pages\": %llu, \"waits\": %llu, \"major_faults\": %llu},\n",
      ull(f.streamed), ull(f.large_reads.load()), ull(f.renewed), ull(f.released), ull(f.given_up), ull(f.passed),
      ull(f.read_behind), ull(f.patterns), ull(f.strided), ull(f.found), ull(f.reclaimed), ull(f.kept), ull(f.waits),
      ull(os::major_faults()));
}

constexpr unsigned kLongestName = 4096;
constexpr const char *kActive = "\"active\": true";

void expand_name(const char *path, char (&name)[kLongestName]) {
  unsigned n = 0;
  for (const char *c = path; *c && n + 16 < sizeof name; ++c) {
    if (c[0] == '%' && c[1] == 'p') n += static_cast<unsigned>(snprintf(name + n, 16, "%d", os::process_id())), ++c;
    else name[n++] = *c;
  }
  name[n] = 0;
}

/// Whether this is the process that was asked for: pagecast run says which becomes its program. A launcher and what it becomes by
/// exec are one, and what it starts beside that is another.
bool is_asked_for() {
  const char *number = getenv("PAGECAST_STATS_PROCESS");
  return number && strtol(number, nullptr, 10) == os::process_id();
}

/// Whether they are of a process that has paged something.
bool holds_active_ones(const char *name) {
  char head[512];
  return os::file_head(name, head, sizeof head) == 0 && strstr(head, kActive);
}

} // namespace

int open_statistics(const char *path, bool active) {
  char name[kLongestName];
  expand_name(path, name);
  // Where the runtime is preloaded, a program's children have it, too: those that page nothing leave the file alone, and so does
  // the program itself where a child paged something.
  const char *preloaded = getenv("LD_PRELOAD");
  const bool idle = !active && preloaded && strstr(preloaded, "libpagecast");
  const bool keep = idle && (!is_asked_for() || holds_active_ones(name));
  return own_descriptor(os::create_file(name, keep));
}

int replace_statistics(const Statistics &s, const char *path, double wall_s) {
  char name[kLongestName], part[kLongestName + 8];
  expand_name(path, name);
  snprintf(part, sizeof part, "%s.part", name);
  if (!os::is_replaceable(name)) return 0;
  const int fd = own_descriptor(os::create_file(part, false));
  if (fd < 0) return fd;
  const int error = write_statistics(s, fd, true, nullptr, wall_s, false);
  return error ? error : os::replace_file(part, name);
}

int write_statistics(const Statistics &s, int fd, bool active, const char *why_not, double wall_s, bool finished) {
  const Totals t = total(s);
  Writer w(fd);
  w.put(
      "{\n  \"version\": 1,\n  \"pagecast\": \"%s\",\n  \"finished\": %s,\n  \"compiled\": %s,\n  \"active\": %s,\n  \"why_not\": ",
      PAGECAST_VERSION, finished ? "true" : "false", Statistics::modules.load() ? "true" : "false", active ? "true" : "false");
  if (active || !why_not) w.put("null");
  else w.text(why_not);
  w.put(",\n  \"program\": ");
  w.text(sandboxed() ? "" : os::program_path());
  w.put(", \"compiled_libraries\": %u", Statistics::library_modules.load());
  put_time(w, s, wall_s);
  w.put(
      "  \"faults\": {\"prefetched_hit\": %llu, \"late\": %llu, \"not_prefetched\": %llu, \"read_around\": %llu, \"zero_fill_hit\": %llu, "
      "\"zero_fill_fault\": %llu, \"protect\": %llu, \"stores_expected\": %llu, \"events\": %llu},\n",
      ull(t.hit), ull(t.late), ull(s.not_prefetched), ull(s.read_around), ull(t.zero), ull(s.zero_fill_fault),
      ull(s.protect_faults), ull(s.stores_expected), ull(s.fault_events.load()));
  w.put(
      "  \"hints\": {\"on\": %s, \"nests_opened\": %llu, \"nests_filtered\": %llu, \"nests_declined\": %llu, \"nests_passed_over\": %llu, \"prefetched_pages\": %llu, "
      "\"overwritten_pages\": %llu, \"unused_pages\": %llu, \"slice_hints\": %llu, \"useless\": %llu, \"by_hand\": %llu, \"dropped\": %llu, \"refused\": %llu},\n",
      Statistics::hints_are_on.load() ? "true" : "false", ull(s.nests_opened.load()), ull(s.nests_filtered.load()),
      ull(s.nests_declined.load()), ull(s.nests_passed_over.load()), ull(t.prefetched), ull(t.overwritten), ull(t.unused),
      ull(s.slice_hints), ull(s.useless_hints), ull(s.hints_by_hand.load()), ull(s.hints_dropped.load()), ull(s.refused_fetches));
  w.put(
      "  \"far\": {\"asked_blocks\": %llu, \"served_nests\": %llu, \"stops\": %llu, \"unasked_intervals\": %llu, \"meetings\": %llu, \"met_s\": %.6f},\n",
      ull(s.far.asked), ull(s.far.served), ull(s.far.stops), ull(s.far.unasked), ull(s.far.meetings.load()),
      static_cast<double>(s.far.met_ns.load()) * 1e-9);
  w.put(
      "  \"releases\": {\"pages\": %llu, \"rescued\": %llu, \"regretted\": %llu, \"forgone\": %llu, \"evicted_clean\": %llu, \"evicted_dirty\": %llu, \"evicted_ahead\": %llu, \"cleaned\": %llu},\n",
      ull(t.released), ull(t.rescued), ull(s.releases_regretted), ull(s.releases_forgone), ull(s.evicted_clean),
      ull(s.evicted_dirty), ull(s.evicted_ahead), ull(s.cleaned));
  const Statistics::SecondChance &c = s.second_chance;
  w.put("  \"second_chance\": {\"waited\": %llu, \"waited_again\": %llu, \"came_back\": %llu, \"came_back_again\": %llu, "
        "\"kept_bytes\": %llu, \"written\": %llu, \"switched_off\": %llu},\n",
        ull(c.waited), ull(c.waited_again), ull(c.came_back), ull(c.came_back_again), ull(c.kept_bytes), ull(c.written),
        ull(c.switched_off));
  w.put("  \"unreleased\": {\"oldest\": %llu, \"newest\": %llu, \"changes\": %llu, \"kept\": %llu},\n", ull(s.unreleased.oldest),
        ull(s.unreleased.newest), ull(s.unreleased.changes), ull(s.unreleased.kept));
  w.put("  \"fault_streams\": {\"used\": %llu, \"wasted\": %llu, \"switched_off\": %llu, \"forgone\": %llu},\n",
        ull(s.streams.used), ull(s.streams.wasted), ull(s.streams.switched_off), ull(s.streams.forgone));
  w.put("  \"io\": {\"read_bytes\": %llu, \"written_bytes\": %llu, \"reads\": %llu, \"writes\": %llu},\n", ull(s.read_bytes),
        ull(s.written_bytes), ull(s.reads), ull(s.writes));
  put_stores(w, s);
  const DiskErrorCounts &bad = s.disk_errors;
  w.put(
      "  \"trouble\": {\"no_room\": %llu, \"full_s\": %.3f, \"write_errors\": %llu, \"read_errors\": %llu, \"lost_pages\": %llu, "
      "\"stalls\": %llu, \"longest_stall_s\": %.3f},\n",
      ull(bad.no_room), static_cast<double>(bad.full_ns) * 1e-9, ull(bad.write_errors), ull(bad.read_errors), ull(bad.lost_pages),
      ull(bad.stalls), static_cast<double>(bad.longest_io_ns) * 1e-9);
  w.put(
      "  \"budget\": {\"bytes\": %llu, \"own_bytes\": %llu, \"peak_bytes\": %llu, \"regions\": %llu, \"region_bytes\": %llu, \"most_region_bytes\": %llu, \"over_time\": [",
      ull(s.budget_bytes), ull(s.own_bytes), ull(s.peak_bytes), ull(s.regions), ull(s.region_bytes), ull(s.most_region_bytes));
  for (unsigned i = 0; i < s.samples; ++i)
    w.put("%s[%llu, %llu, %llu]", i ? ", " : "", ull(s.sample[i].ms), ull(s.sample[i].budget), ull(s.sample[i].used));
  w.put("], ");
  put_make_up(w, s);
  w.put("},\n");
  w.put("  \"limit\": {\"looks\": %llu, \"lowered\": %llu, \"raised\": %llu, \"least_bytes\": %llu, \"most_bytes\": %llu, "
        "\"given_back_bytes\": %llu, \"reads_held_back\": %llu, \"slowest_give_back_s\": %.6f},\n",
        ull(s.looks), ull(s.lowered), ull(s.raised), ull(s.looks ? s.least_budget_bytes : 0), ull(s.most_budget_bytes),
        ull(s.given_back_bytes), ull(s.reads_postponed), static_cast<double>(s.slowest_give_back_ns) * 1e-9);
  w.put("  \"favoured\": {\"turns\": %llu, \"paid\": %llu},\n", ull(s.favoured.turns), ull(s.favoured.paid));
  put_files(w, s);
  put_slices(w, s);
  put_sites(w, s);
  w.put("}\n");
  w.flush();
  if (!sandboxed()) close_own(fd);
  return -w.failed();
}

} // namespace pagecast
