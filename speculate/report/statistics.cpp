// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/report/statistics.h"
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr const char *kNames[kEndings] = {"finished", "call",   "written", "unreadable", "descriptors", "set_up",
                                          "crashed",  "astray", "old",     "original",   "no_gain",     nullptr};

/// Text of bounded length, without allocation.
class Text {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text_ + length_, sizeof text_ - length_, format, list);
    va_end(list);
    if (n > 0) length_ += static_cast<unsigned>(n);
    if (length_ >= sizeof text_) length_ = sizeof text_ - 1;
  }
  void number(const char *name, uint64_t value) { add("%s\"%s\": %lu", comma(), name, value); }
  void fraction(const char *name, double value) { add("%s\"%s\": %.6f", comma(), name, value); }
  void text(const char *name, const char *value) { add("%s\"%s\": \"%s\"", comma(), name, value); }
  void begin(const char *name) {
    add("%s\"%s\": {", comma(), name);
    first_ = true;
  }
  void end() {
    add("}");
    first_ = false;
  }
  bool write(int file) const {
    unsigned done = 0;
    while (done < length_) {
      const ssize_t n = ::write(file, text_ + done, length_ - done);
      if (n <= 0) return false;
      done += static_cast<unsigned>(n);
    }
    return true;
  }

private:
  const char *comma() {
    const bool first = first_;
    first_ = false;
    return first ? "" : ", ";
  }

  char text_[6144] = {};
  unsigned length_ = 0;
  bool first_ = true;
};

void add_original(Text &text, const Statistics &s) {
  text.begin("time");
  text.fraction("seconds", s.seconds);
  text.fraction("running", s.running);
  text.fraction("waiting_disk", s.waiting_disk);
  text.fraction("waiting_other", s.waiting_other);
  text.end();
  text.begin("original");
  text.number("looks", s.looks);
  text.number("waits_hinted", s.waits_hinted);
  text.number("waits_missed", s.waits_missed);
  text.number("waits_in_faults", s.waits_in_faults);
  text.number("stopped_ns", s.stopped_ns);
  text.number("most_stopped_ns", s.most_stopped_ns);
  text.end();
}

void add_copies(Text &text, const Statistics &s) {
  text.begin("copies");
  text.number("made", s.copies);
  text.number("calls", s.calls);
  text.number("reads", s.reads);
  text.number("answered", s.answered);
  text.number("hinted", s.hinted);
  text.number("waited", s.waited);
  text.number("guesses", s.guesses);
  text.number("writes", s.writes);
  text.number("page_faults", s.copy_faults);
  text.fraction("seconds", s.copy_seconds);
  text.fraction("dilation", dilation_of(s));
  text.number("last_call", s.last_call);
  text.begin("ended");
  for (unsigned i = 0; i < kEndings; i++)
    if (kNames[i]) text.number(kNames[i], s.ended[i]);
  text.end();
  text.end();
}

void add_controller(Text &text, const Statistics &s) {
  text.begin("controller");
  text.fraction("seconds", s.own_seconds);
  text.number("bytes", s.own_bytes);
  text.end();
}

void add_prefetch(Text &text, const Statistics &s) {
  const PrefetchCounts &p = s.prefetch;
  text.begin("prefetch");
  text.number("hints", p.hints);
  text.number("named", s.named);
  text.number("done", p.done);
  text.number("in_memory", p.in_memory);
  text.number("begun", p.begun);
  text.number("cancelled", p.cancelled);
  text.number("late", p.late);
  text.number("failed", p.failed);
  text.number("in_vain", p.in_vain);
  text.number("joined", p.joined);
  text.number("bytes", p.bytes);
  text.number("requests", p.requests);
  text.number("depth", p.depth);
  text.fraction("seconds_per_request",
                p.requests ? static_cast<double>(p.nanoseconds) * 1e-9 / static_cast<double>(p.requests) : 0);
  text.end();
}

void add_account(Text &text, const AccountCounts &a) {
  text.begin("account");
  text.number("reads", a.reads);
  text.number("reads_hinted", a.reads_hinted);
  text.number("reads_at_end", a.reads_at_end);
  text.number("blocks", a.blocks);
  text.number("blocks_hinted", a.blocks_hinted);
  text.number("bytes", a.bytes);
  text.number("bytes_hinted", a.bytes_hinted);
  text.number("hints", a.hints);
  text.number("hints_in_error", a.hints_in_error);
  text.number("blocks_in_error", a.blocks_in_error);
  text.number("prefetched_fully", a.fully);
  text.number("prefetched_partly", a.partly);
  text.number("prefetched_unused", a.unused);
  text.number("reused", a.reused);
  text.number("reads_own", a.reads_own);
  text.number("blocks_own", a.blocks_own);
  text.end();
}

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void say_account(Text &text, const AccountCounts &a) {
  const uint64_t fetched = a.fully + a.partly + a.unused, reads = a.reads - a.reads_own, blocks = a.blocks - a.blocks_own;
  text.add("  reads       %lu, %.1f %% hinted; %lu blocks, %.1f %% hinted; %lu blocks hinted in error\n", reads,
           percent(a.reads_hinted, reads), blocks, percent(a.blocks_hinted, blocks), a.blocks_in_error);
  if (a.reads_own) text.add("              and %lu reads of what it had written itself\n", a.reads_own);
  text.add("  blocks      %lu prefetched: %.1f %% fully, %.1f %% partly, %.1f %% not used; %lu reads of earlier ones\n", fetched,
           percent(a.fully, fetched), percent(a.partly, fetched), percent(a.unused, fetched), a.reused);
}

} // namespace

const char *name_of(Ending ending) { return kNames[static_cast<unsigned>(ending)]; }

void Statistics::add(const Channel &channel) {
  calls += channel.calls;
  reads += channel.reads;
  answered += channel.answered_reads;
  hinted += channel.hinted_reads;
  waited += channel.waited_reads;
  guesses += channel.guesses;
  writes += channel.writes;
}

double dilation_of(const Statistics &s) {
  if (!s.reads || !s.original_reads || s.original_seconds <= 0) return 0;
  return s.copy_seconds / static_cast<double>(s.reads) / (s.original_seconds / static_cast<double>(s.original_reads));
}

bool write_statistics(const Statistics &statistics, const char *path) {
  Text text;
  text.add("{");
  text.add("\"finished\": %s", statistics.finished ? "true" : "false");
  text.add(", \"status\": %ld", statistics.status);
  text.add(", \"reason\": \"%s\", ", statistics.reason);
  Text inner = text; // its first member must not begin with a comma of its own
  add_original(inner, statistics);
  add_copies(inner, statistics);
  add_prefetch(inner, statistics);
  add_controller(inner, statistics);
  if (statistics.accounted) add_account(inner, statistics.account);
  inner.add("}\n");
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = inner.write(file);
  return close(file) == 0 && written;
}

void print_summary(const Statistics &s, int file) {
  Text text;
  const PrefetchCounts &p = s.prefetch;
  text.add("pagecast speculate: %.2f s, of which %.2f s waiting for a disk\n", s.seconds, s.waiting_disk);
  text.add("  copies      %lu made, the program stopped for %.2f ms in all\n", s.copies,
           static_cast<double>(s.stopped_ns) * 1e-6);
  for (unsigned i = 0; i < kEndings; i++)
    if (s.ended[i]) text.add("              %lu ended: %s\n", s.ended[i], kNames[i]);
  if (dilation_of(s) > 0) text.add("              computed %.1f times as long for a read as the program\n", dilation_of(s));
  text.add("  hints       %lu given, %lu carried out, %lu in memory already, %lu too late, %lu cancelled\n", p.hints, p.done,
           p.in_memory, p.late, p.cancelled);
  if (p.in_vain) text.add("              %lu dropped: this storage keeps nothing of them in memory\n", p.in_vain);
  text.add("  prefetched  %.1f MB in %lu requests of %.2f ms\n", static_cast<double>(p.bytes) * 1e-6, p.requests,
           p.requests ? static_cast<double>(p.nanoseconds) * 1e-6 / static_cast<double>(p.requests) : 0);
  text.add("  long waits  %lu hinted, %lu not, %lu in page faults\n", s.waits_hinted, s.waits_missed, s.waits_in_faults);
  if (s.accounted) say_account(text, s.account);
  if (s.reason[0]) text.add("  no copies   %s\n", s.reason);
  text.write(file);
}

} // namespace pagecast::speculate
