// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/job_report.h"

#include <algorithm>
#include <cstdio>

namespace pagecast::nbd {
namespace {

using ull = unsigned long long;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

void put_reference(FILE *out, const core::Foreseen &f) {
  const core::Reference &r = f.reference;
  fprintf(out, "{\"data_set\": %u, \"first\": %lld, \"span\": %llu, \"loops\": [", f.data_set, static_cast<long long>(r.first),
          ull(r.span));
  for (uint32_t l = 0; l < r.loops; ++l)
    fprintf(out, "%s[%llu, %lld]", l ? ", " : "", ull(r.trips[l]), static_cast<long long>(r.stride[l]));
  fputs("]}", out);
}

} // namespace

void JobReport::start(const std::string &file, uint64_t now_ns) {
  file_ = file;
  since_ns_ = now_ns;
}

void JobReport::opened(const Opened &o) {
  ++nests_;
  if (!file_.empty() && nest_.size() < kMostNests) nest_.push_back({o, 0});
}

void JobReport::closed(const Opened &o, uint64_t now_ns) {
  const auto at = std::find_if(nest_.rbegin(), nest_.rend(), [&](const Nest &n) { return !n.closed_ns && n.what.is(o); });
  if (at != nest_.rend()) at->closed_ns = now_ns;
}

void JobReport::team(size_t members, uint64_t intervals) {
  ++teams_;
  served_ += members;
  intervals_ += intervals;
}

bool JobReport::write(const Job &job, const std::vector<core::DataSetBlocks> &sets, uint64_t now_ns) const {
  if (file_.empty()) return true;
  const std::string beside = file_ + ".part";
  FILE *out = fopen(beside.c_str(), "w");
  if (!out) return false;
  fprintf(
      out,
      "{\"version\": 1, \"asked_blocks\": %llu, \"left_blocks\": %llu, \"nests_opened\": %llu, \"teams\": %llu, \"given_up\": %llu, \"served\": %llu, "
      "\"intervals\": %llu,\n \"members\": [",
      ull(asked_), ull(left_), ull(nests_), ull(teams_), ull(given_up_), ull(served_), ull(intervals_));
  const char *comma = "";
  for (const JobMember &m : job.member) {
    uint64_t nests = 0, meetings = 0, met_ns = 0;
    for (const JobEntry &e : m.entry) {
      nests += (e.serial.load(std::memory_order_relaxed) + 1) / 2;
      meetings += e.meetings.load(std::memory_order_relaxed);
      met_ns += e.met_ns.load(std::memory_order_relaxed);
    }
    if (!nests) continue;
    fprintf(out, "%s\n  {\"rank\": %lld, \"nests\": %llu, \"meetings\": %llu, \"met_s\": %.6f}", comma,
            static_cast<long long>(m.rank), ull(nests), ull(meetings), seconds(met_ns));
    comma = ",";
  }
  fputs("],\n \"data_sets\": [", out);
  for (size_t e = 0; e < sets.size(); ++e)
    fprintf(out, "%s{\"bytes\": %llu, \"block\": %llu}", e ? ", " : "", ull(job.exports[e].bytes), ull(sets[e].block));
  fputs("],\n \"nests\": [", out);
  comma = "";
  for (const Nest &n : nest_) {
    fprintf(out, "%s\n  {\"rank\": %lld, \"phase\": \"%llx\", \"from_s\": %.6f, \"to_s\": %.6f, \"references\": [", comma,
            static_cast<long long>(n.what.rank), ull(n.what.phase), seconds(n.what.seen_ns - since_ns_),
            seconds((n.closed_ns ? n.closed_ns : now_ns) - since_ns_));
    for (size_t f = 0; f < n.what.foreseen.size(); ++f) {
      if (f) fputs(", ", out);
      put_reference(out, n.what.foreseen[f]);
    }
    fputs("]}", out);
    comma = ",";
  }
  fputs("]}\n", out);
  const bool good = !ferror(out);
  return fclose(out) == 0 && good && rename(beside.c_str(), file_.c_str()) == 0;
}

} // namespace pagecast::nbd
