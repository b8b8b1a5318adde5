// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/explanation.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "cli/explain/source.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// Arguments of remarks that have a meaning here. All others are part of the sentence only.
constexpr const char *kArray = "Array";

std::string baseName(const std::string &file) { return fs::path(file).filename().string(); }

Language languageAt(const SourceLocation &at, const std::string &mainFile) {
  return languageOf(at.file).value_or(languageOf(mainFile).value_or(Language::kC));
}

/// Takes ":NUMBER", or a whole NUMBER, off the end of `text`.
std::optional<unsigned> cutNumber(std::string &text) {
  const size_t colon = text.rfind(':');
  const std::string last = colon == std::string::npos ? text : text.substr(colon + 1);
  if (last.size() > 8 || !isDigits(last)) return std::nullopt;
  text.erase(colon == std::string::npos ? 0 : colon);
  return static_cast<unsigned>(std::stoul(last));
}

SourceLocation nestLocationOf(const Remark &remark) {
  std::string text = remark.value(Remark::kNest);
  const auto last = cutNumber(text);
  const auto before = cutNumber(text);
  if (!last) return {};
  const std::string file = text.empty() ? remark.at.file : text;
  return before ? SourceLocation{file, *before, *last} : SourceLocation{file, *last, 0};
}

/// Whether `file` is a header of the system or of the compiler, or lies in a folder for installed software. What is beside the
/// source that was asked for is the user's own wherever it lies.
bool isLibrary(const std::string &file, const std::string &asked) {
  std::error_code unknown;
  const std::string path = fs::path(file).lexically_normal().string();
  const std::string own = fs::absolute(asked, unknown).parent_path().lexically_normal().string() + "/";
  if (path.rfind(own, 0) == 0) return false;
  return path.rfind("/usr/", 0) == 0 || path.rfind("/opt/", 0) == 0 || path.find("/include/c++/") != std::string::npos ||
         path.find("/lib/clang/") != std::string::npos;
}

/// The file that was asked for, as remarks name it; of a record the user's file that most of them are about.
std::string mainFileOf(const std::vector<Remark> &remarks, const std::string &asked) {
  std::map<std::string, size_t> count;
  for (const Remark &remark : remarks) {
    if (baseName(remark.at.file) == baseName(asked)) return remark.at.file;
    count[remark.at.file] += !remark.at.file.empty() && !isLibrary(remark.at.file, asked);
  }
  const auto most =
      std::max_element(count.begin(), count.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == count.end() || most->second == 0 ? asked : most->first;
}

auto orderOf(const SourceLocation &at) { return std::make_tuple(at.file, at.line, at.column); }

/// What has no line comes last; before that lines of libraries; the main file is first.
auto orderIn(const Explanation &all, const SourceLocation &at) {
  const int rank = at.line == 0 ? 3 : at.file == all.mainFile ? 0 : isLibrary(at.file, all.file) ? 2 : 1;
  return std::make_pair(rank, orderOf(at));
}

ExplainedFunction &functionOf(Explanation &all, const Remark &remark) {
  for (ExplainedFunction &function : all.functions)
    if (function.symbol == remark.function) return function;
  const Language language = languageAt(remark.at, all.mainFile);
  all.functions.push_back({readableName(remark.function, language), remark.function, {}});
  return all.functions.back();
}

ExplainedNest &nestOf(ExplainedFunction &function, const Remark &remark, SourceLines &sources) {
  const SourceLocation at = nestLocationOf(remark);
  for (ExplainedNest &nest : function.nests)
    if (orderOf(nest.at) == orderOf(at)) return nest;
  function.nests.push_back({at, sources.line(at.file, at.line), {}});
  return function.nests.back();
}

Explained toExplained(const Remark &remark, const Explanation &all, SourceLines &sources) {
  const std::string array = remark.value(kArray);
  return {remark,
          readableName(array, languageAt(remark.at, all.mainFile)),
          sources.line(remark.at.file, remark.at.line),
          remark.kind == Remark::Kind::kPassed && !array.empty(),
          isLibrary(remark.at.file, all.file),
          {}};
}

/// The first line of a function that is known.
auto firstOf(const Explanation &all, const ExplainedFunction &function) {
  auto first = orderIn(all, {});
  for (const ExplainedNest &nest : function.nests)
    for (const Explained &one : nest.remarks) first = std::min(first, orderIn(all, one.remark.at));
  return first;
}

void sort(Explanation &all) {
  const auto byPlace = [&all](const Explained &a, const Explained &b) {
    return orderIn(all, a.remark.at) < orderIn(all, b.remark.at);
  };
  for (ExplainedFunction &function : all.functions) {
    for (ExplainedNest &nest : function.nests) std::stable_sort(nest.remarks.begin(), nest.remarks.end(), byPlace);
    std::stable_sort(function.nests.begin(), function.nests.end(),
                     [&all](const ExplainedNest &a, const ExplainedNest &b) { return orderIn(all, a.at) < orderIn(all, b.at); });
  }
  std::stable_sort(all.functions.begin(), all.functions.end(),
                   [&all](const ExplainedFunction &a, const ExplainedFunction &b) { return firstOf(all, a) < firstOf(all, b); });
}

/// How well a site fits a remark; 0 = not at all. The runtime knows a function by its name in the source, the
/// record by its symbol; and the directories may differ between the two compilations.
struct Likeness {
  int score = 0;
  bool isOfFunction = false; ///< or the run does not know its function
};

bool isFunction(const Site &site, const Explained &one, const std::string &mainFile) {
  const std::string stem = site.function.substr(0, site.function.find('<')), &symbol = one.remark.function;
  if (stem.empty()) return false;
  return symbol.find(stem) != std::string::npos ||
         readableName(symbol, languageAt(one.remark.at, mainFile)).find(stem) != std::string::npos;
}

Likeness likeness(const Site &site, const Explained &one, const std::string &mainFile) {
  const SourceLocation &at = one.remark.at;
  if (site.at.line == 0 || site.at.line != at.line || site.at.column != at.column) return {};
  const bool sameFile = baseName(site.at.file) == baseName(at.file);
  const bool sameFunction = isFunction(site, one, mainFile);
  if (!sameFile && !sameFunction) return {};
  const bool isIndirect = one.remark.name.find("Indirect") != std::string::npos;
  const int score =
      1 + 8 * sameFunction + 4 * (site.indirect == isIndirect) + 2 * (site.name == one.remark.value(kArray)) + sameFile;
  return {score, sameFunction || site.function.empty()};
}

/// The remark that fits best; of several, one that has the fewest sites: code that was inlined twice has two
/// remarks and two sites alike.
Explained *bestMatch(const Site &site, Explanation &all) {
  Explained *best = nullptr;
  bool met = false;
  auto bestRank = std::make_tuple(0, 0);
  for (ExplainedFunction &function : all.functions)
    for (ExplainedNest &nest : function.nests)
      for (Explained &one : nest.remarks) {
        const auto [score, isOfFunction] = one.expectsSite ? likeness(site, one, all.mainFile) : Likeness{};
        met |= isOfFunction;
        const auto rank = std::make_tuple(score, -static_cast<int>(one.sites.size()));
        if (score > 0 && (!best || rank > bestRank)) {
          best = &one;
          bestRank = rank;
        }
      }
  all.linesMet += met;
  return best;
}

/// The site of fault streams, which belongs to the runtime.
bool isOfFaultStreams(const Site &site) {
  return site.name == "history" && site.at.file.empty() && site.at.line == 0 && site.function.empty();
}

void join(Explanation &all) {
  for (const Site &site : all.run->sites)
    if (isOfFaultStreams(site)) {
      all.faultStreams = site.counts;
      all.faultStreams->insert(all.faultStreams->end(), all.run->faultStreams.begin(), all.run->faultStreams.end());
    } else if (Explained *one = bestMatch(site, all)) one->sites.push_back(&site);
    else all.strangers.push_back(&site);
}

/// Whether the bytes of a program have the name in them, as its tables of nests have those of their files. True where it cannot be
/// read.
bool mentions(const std::string &program, const std::string &name) {
  try {
    return contentsOf(program, program, "").find(name) != std::string::npos;
  } catch (const Failure &) { return true; }
}

} // namespace

bool isOfNest(const Site &site) {
  const bool isByHand = site.name == "by hand" && site.at.file.empty() && site.function.empty();
  return !isByHand && !isOfFaultStreams(site);
}

bool isStrange(const Explanation &all) {
  return all.run && all.linesMet == 0 &&
         std::any_of(all.run->sites.begin(), all.run->sites.end(), [](const Site &site) { return site.at.line != 0; });
}

bool isOfAnotherProgram(const Explanation &all) {
  if (!isStrange(all)) return false;
  const std::string name = baseName(all.mainFile);
  for (const Site &site : all.run->sites)
    if (baseName(site.at.file) == name) return true;
  return !all.run->program.empty() && all.run->compiledLibraries == 0 && !mentions(all.run->program, name);
}

Explanation makeExplanation(const std::string &file, const std::vector<Remark> &remarks, std::optional<MeasuredRun> run) {
  Explanation out;
  out.file = file;
  out.mainFile = mainFileOf(remarks, file);
  out.run = std::move(run);
  SourceLines sources(fs::path(file).parent_path());
  for (const Remark &remark : remarks)
    nestOf(functionOf(out, remark), remark, sources).remarks.push_back(toExplained(remark, out, sources));
  sort(out);
  if (out.run) join(out);
  return out;
}

Counts totalOf(const std::vector<const Site *> &sites) {
  Counts out;
  for (const Site *site : sites)
    for (const auto &[name, count] : site->counts) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const auto &c) { return c.first == name; });
      if (known == out.end()) out.emplace_back(name, count);
      else known->second += count;
    }
  return out;
}

} // namespace pagecast::cli
