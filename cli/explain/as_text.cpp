// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An explanation as text:
//
//     FUNCTION
//       nest at LINE: its source
//         LINE  the source line
//               :COLUMN  ARRAY  NAME   the sentence of the remark
//                                      run: what was measured
#include "cli/explain/explanation.h"
#include "cli/explain/strides.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

namespace pagecast::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kLineWidth = 5, kColumnWidth = 5, kMostArray = 20, kMostName = 24;
/// Before a remark: as far as the source line above it, and a little.
constexpr size_t kIndent = 4 + kLineWidth + 4;

enum class Style { kPlain, kFunction, kSource, kDone, kRefused, kMeasured };

const char *escape(Style style) {
  switch (style) {
  case Style::kFunction: return "\033[1m";
  case Style::kSource: return "\033[36m";
  case Style::kDone: return "\033[32m";
  case Style::kRefused: return "\033[33m";
  case Style::kMeasured: return "\033[35m";
  case Style::kPlain: break;
  }
  return "";
}

/// Bytes that begin a character; the columns of most texts.
size_t widthOf(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// At most `columns` wide, with dots where something is missing.
std::string cut(const std::string &text, size_t columns) {
  std::string out;
  if (widthOf(text) <= columns) return text;
  for (size_t i = 0, width = 0; i < text.size() && width + 3 < columns + ((text[i] & 0xC0) == 0x80); ++i) {
    width += (text[i] & 0xC0) != 0x80;
    out += text[i];
  }
  return out + "...";
}

std::string padded(const std::string &text, size_t columns) {
  const std::string shown = cut(text, columns);
  return shown + std::string(columns - widthOf(shown), ' ');
}

/// `text` in lines of at most `columns`, broken at spaces, or anywhere where there is none.
std::vector<std::string> wrapped(const std::string &text, size_t columns) {
  std::vector<std::string> out;
  std::string rest = text;
  while (rest.size() > columns) {
    size_t at = rest.rfind(' ', columns);
    if (at == std::string::npos || at == 0) at = columns;
    out.push_back(rest.substr(0, at));
    rest.erase(0, rest.find_first_not_of(' ', at) == std::string::npos ? rest.size() : rest.find_first_not_of(' ', at));
  }
  if (!rest.empty() || out.empty()) out.push_back(rest);
  return out;
}

/// "entries 1, prefetched hit 5676, late 57": those that are not zero, under the words of the glossary, which are the names of
/// the fields without their underscores.
std::string shown(const Counts &counts) {
  std::string out;
  for (const auto &[name, count] : counts) {
    if (!count) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    out += (out.empty() ? "" : ", ") + words + " " + std::to_string(count);
  }
  return out.empty() ? "none" : out;
}

std::string locationOf(const SourceLocation &at, const std::string &file) {
  const bool elsewhere = !at.file.empty() && std::filesystem::path(at.file).filename() != std::filesystem::path(file).filename();
  return (elsewhere ? at.file + ":" : "") + (at.line ? std::to_string(at.line) : "?");
}

/// How many remarks that name an array there are of a kind, and how many refusals.
struct Tally {
  size_t hinted = 0, refused = 0;
};

class Printer {
public:
  Printer(const Explanation &all, bool colours, bool libraries) : all_(all), colours_(colours), libraries_(libraries) {
    measureColumns();
  }

  std::string print() {
    printHeader();
    for (const ExplainedFunction &function : all_.functions)
      if (std::any_of(function.nests.begin(), function.nests.end(), [this](const ExplainedNest &n) { return isShown(n); }))
        print(function);
    if (all_.run) printStrangers();
    if (all_.run) printSlices();
    printFaultStreams();
    printLeftOut();
    return out_;
  }

private:
  bool isShown(const Explained &one) const { return libraries_ || !one.isLibrary; }
  bool isShown(const ExplainedNest &nest) const {
    return std::any_of(nest.remarks.begin(), nest.remarks.end(), [this](const Explained &one) { return isShown(one); });
  }

  /// The columns of arrays and names are as wide as what is in them, within limits.
  void measureColumns() {
    for (const ExplainedFunction &function : all_.functions)
      for (const ExplainedNest &nest : function.nests)
        for (const Explained &one : nest.remarks) {
          Tally &tally = isShown(one) ? tally_ : leftOut_;
          tally.hinted += one.expectsSite;
          tally.refused += one.remark.kind == Remark::Kind::kMissed;
          if (!isShown(one)) continue;
          arrayWidth_ = std::max(arrayWidth_, std::min(kMostArray, widthOf(one.array)));
          nameWidth_ = std::max(nameWidth_, std::min(kMostName, widthOf(one.remark.name)));
        }
  }

  static std::string words(const Tally &tally) {
    return std::to_string(tally.hinted) + (tally.hinted == 1 ? " group" : " groups") + " of references hinted, " +
           std::to_string(tally.refused) + " refused";
  }

  void put(const std::string &text, Style style = Style::kPlain) {
    const bool coloured = colours_ && style != Style::kPlain;
    out_ += coloured ? escape(style) + text + "\033[0m" : text;
  }
  void putLine(const std::string &text, Style style = Style::kPlain) {
    put(cut(text, kColumns), style);
    out_ += '\n';
  }
  void putWrapped(size_t indent, const std::string &text, Style style = Style::kPlain) {
    for (const std::string &line : wrapped(text, kColumns - indent)) putLine(std::string(indent, ' ') + line, style);
  }

  void printHeader() {
    putWrapped(0, all_.file + ": " + words(tally_));
    if (!all_.run) return;
    char seconds[80];
    const double wall = all_.run->wallSeconds;
    if (const auto waited = all_.run->stallSeconds)
      std::snprintf(seconds, sizeof seconds, "%.3f s, of which threads waited %.3f s for pages", wall, *waited);
    else std::snprintf(seconds, sizeof seconds, "%.3f s; waits were not measured", wall);
    putWrapped(0, all_.run->path + ": " + seconds + "; pages: " + shown(all_.run->faults), Style::kMeasured);
    if (!all_.run->active)
      putWrapped(0, "Nothing was paged in this run, so nothing was measured: " +
                        (all_.run->whyNot.empty() ? "the data fitted in the budget" : all_.run->whyNot) + ".");
    else if (!all_.run->compiled)
      putWrapped(0, "The program that ran was not compiled with pagecast cc, so no line of it gave hints.");
    if (isStrange(all_))
      putWrapped(
          0, "None of its lines is in what is explained here: the statistics are of another program, or of another part of it.");
    if (!all_.run->hintsWereOn)
      putWrapped(0, "Hints were off in this run (--option hints=0), so there are no figures of single lines.");
    if (ranWithoutLines()) putWrapped(0, "The program that ran has no line numbers; compile it with -g or -gline-tables-only.");
  }

  /// Whether the program that ran has no line numbers, so that nothing can be said of single lines.
  bool ranWithoutLines() const {
    const auto &sites = all_.run->sites;
    return std::any_of(sites.begin(), sites.end(), isOfNest) &&
           std::all_of(sites.begin(), sites.end(), [](const Site &site) { return site.at.line == 0; });
  }

  /// Whether a line of which nothing was measured can be said to have had no hints.
  bool tellsOfLines() const { return all_.run->compiled && all_.run->hintsWereOn && !isStrange(all_) && !ranWithoutLines(); }

  void print(const ExplainedFunction &function) {
    out_ += '\n';
    putLine(function.name.empty() ? "(no function)" : function.name, Style::kFunction);
    for (const ExplainedNest &nest : function.nests) {
      if (!isShown(nest)) continue;
      if (nest.at.line)
        putLine("  nest at " + locationOf(nest.at, all_.mainFile) + (nest.source.empty() ? "" : ": " + nest.source));
      else if (function.nests.size() > 1) putLine("  in no nest");
      // The heading has just shown the nest's own line.
      const SourceLocation *previous = nest.at.line && !nest.source.empty() ? &nest.at : nullptr;
      for (const Explained &one : nest.remarks) {
        if (!isShown(one)) continue;
        if (!previous || previous->file != one.remark.at.file || previous->line != one.remark.at.line) printSource(one);
        previous = &one.remark.at;
        print(one);
      }
    }
  }

  void printSource(const Explained &one) {
    const std::string location = locationOf(one.remark.at, all_.mainFile);
    const std::string pad(location.size() < kLineWidth ? kLineWidth - location.size() : 0, ' ');
    putLine("    " + pad + location + "  " +
                (one.source.empty() ? one.remark.at.line ? "(the source was not found)" : "(no line)" : one.source),
            Style::kSource);
  }

  void print(const Explained &one) {
    const Remark &remark = one.remark;
    const std::string column = remark.at.column ? ":" + std::to_string(remark.at.column) : "";
    const std::string array = arrayWidth_ ? padded(one.array, arrayWidth_) + "  " : "";
    const size_t indent = kIndent + kColumnWidth + 2 + arrayWidth_ + (arrayWidth_ ? 2 : 0) + nameWidth_ + 2;
    const auto lines = wrapped(sentenceOf(one), kColumns - indent);
    put(std::string(kIndent, ' ') + padded(column, kColumnWidth) + "  " + array);
    put(padded(remark.name, nameWidth_), styleOf(remark.kind));
    out_ += "  " + lines[0] + "\n";
    for (size_t i = 1; i < lines.size(); ++i) putLine(std::string(indent, ' ') + lines[i]);
    if (all_.run && all_.run->active && one.expectsSite && tellsOfLines())
      putWrapped(indent,
                 one.sites.empty() ? "run: no hints: too few iterations each time, or not reached while data were paged"
                                   : "run: " + shown(totalOf(one.sites)),
                 Style::kMeasured);
  }

  static Style styleOf(Remark::Kind kind) {
    return kind == Remark::Kind::kPassed ? Style::kDone : kind == Remark::Kind::kMissed ? Style::kRefused : Style::kPlain;
  }

  /// Without the array at its beginning, which has a column of its own, and with strides in words.
  static std::string sentenceOf(const Explained &one) {
    if (const std::string strides = one.remark.value("Strides"); !strides.empty()) {
      const std::string members = one.remark.value("References"), from = one.remark.value("Low"), to = one.remark.value("High");
      return one.remark.value("Access") + ": " + stridesInWords(strides, one.remark.value("Call")) +
             (members.empty() ? "" : "; " + members + " references together, over bytes " + from + " to " + to) +
             (one.remark.text().find("index of an indirect") == std::string::npos ? "" : "; index of an indirect reference");
    }
    const std::string text = one.remark.text(), array = one.remark.value("Array");
    const bool repeats = !array.empty() && text.rfind(array + " ", 0) == 0;
    return repeats ? text.substr(array.size() + 1) : text;
  }

  /// Sites that no remark is about: those of these sources by name, the others by number.
  void printStrangers() {
    std::set<std::string> files = {std::filesystem::path(all_.mainFile).filename().string()};
    for (const ExplainedFunction &function : all_.functions)
      for (const ExplainedNest &nest : function.nests)
        for (const Explained &one : nest.remarks) files.insert(std::filesystem::path(one.remark.at.file).filename().string());
    std::vector<const Site *> here;
    for (const Site *site : all_.strangers)
      if (files.count(std::filesystem::path(site->at.file).filename().string()) || site->at.file.empty()) here.push_back(site);
    if (!here.empty()) {
      out_ += '\n';
      putLine("Sites of the run that no remark is about:", Style::kFunction);
    }
    for (const Site *site : here) {
      putWrapped(2, (site->at.file.empty() ? "" : site->at.file + ":" + std::to_string(site->at.line) + " ") +
                        (site->name.empty() ? "memory" : site->name) + (site->function.empty() ? "" : " in " + site->function) +
                        ": " + shown(site->counts));
    }
    if (const size_t others = all_.strangers.size() - here.size())
      putWrapped(0, "\n" + std::to_string(others) +
                        (others == 1 ? " site of the run is in another file; explain that file for more."
                                     : " sites of the run are in other files; explain those files for more."));
  }

  /// Slices have lines of their own: several references may share one, and none of these is to be charged with it.
  void printSlices() {
    bool first = true;
    for (const MeasuredSlice &slice : all_.run->slices) {
      const std::string mainName = std::filesystem::path(all_.mainFile).filename().string();
      if (!slice.at.file.empty() && std::filesystem::path(slice.at.file).filename().string() != mainName) continue;
      if (first) out_ += '\n', putLine("Slices of the run:", Style::kFunction);
      first = false;
      putWrapped(2, wordsOf(slice), Style::kMeasured);
    }
  }

  static std::string wordsOf(const MeasuredSlice &slice) {
    char costs[120], saved[80] = "not compared with the nest without it";
    std::snprintf(costs, sizeof costs, "%.3f s of processor time, %.3f s waited for it; ", slice.cpuSeconds, slice.waitedSeconds);
    if (slice.savedSeconds)
      std::snprintf(saved, sizeof saved, "%s %.3f s", *slice.savedSeconds < 0 ? "lost" : "saved", std::fabs(*slice.savedSeconds));
    return (slice.at.line ? std::to_string(slice.at.line) + " " : "") + "in " + (slice.function.empty() ? "?" : slice.function) +
           ": " + costs + saved + ", switched off " + std::to_string(slice.switchedOff) +
           (slice.switchedOff == 1 ? " time" : " times") + (slice.isOff ? ", and at the end" : "");
  }

  void printFaultStreams() {
    if (all_.faultStreams) putWrapped(0, "\nForetold by faults alone, where no hint did: " + shown(*all_.faultStreams));
  }

  void printLeftOut() {
    if (leftOut_.hinted + leftOut_.refused) putWrapped(0, "\nIn lines of libraries: " + words(leftOut_) + "; --all shows them.");
  }

  const Explanation &all_;
  const bool colours_, libraries_;
  Tally tally_, leftOut_;
  size_t arrayWidth_ = 0, nameWidth_ = 0;
  std::string out_;
};

} // namespace

std::string explanationAsText(const Explanation &all, bool colours, bool libraries) {
  return Printer(all, colours, libraries).print();
}

} // namespace pagecast::cli
