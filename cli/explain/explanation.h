// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What there is to explain, in the order in which a reader wants it: functions, their nests, the remarks of
// each, and beside them what a run measured.
#pragma once
#include "cli/explain/measured.h"
#include "cli/explain/source.h"
#include <optional>

namespace pagecast::cli {

struct Explained {
  Remark remark;
  std::string array;               ///< as in the source; empty when the remark names none
  std::string source;              ///< the text of its line
  bool expectsSite = false;        ///< a group with hints: a run that entered its nest has a site for it
  bool isLibrary = false;          ///< its line is one of a library's, not of the user's
  std::vector<const Site *> sites; ///< of Explanation::run
};

struct ExplainedNest {
  SourceLocation at; ///< of its outermost loop; line 0 = the remarks do not say to which nest they belong
  std::string source;
  std::vector<Explained> remarks; ///< by line
};

struct ExplainedFunction {
  std::string name, symbol;
  std::vector<ExplainedNest> nests; ///< by line, the one without a line last
};

struct Explanation {
  std::string file;     ///< that was asked for: a source or a record
  std::string mainFile; ///< the user's source that was asked for, or that most remarks are about
  std::vector<ExplainedFunction> functions; ///< those of the main file first, those of libraries last
  std::optional<MeasuredRun> run;
  size_t linesMet = 0; ///< sites of the run in whose function there is a remark on their line
  std::vector<const Site *> strangers; ///< sites of the run without a remark here
  std::optional<Counts> faultStreams;  ///< what faults foretold in the run, which no line stands for
};

Explanation makeExplanation(const std::string &file, const std::vector<Remark> &remarks, std::optional<MeasuredRun> run);

/// Whether the run measured lines, and none of them is one of these.
bool isStrange(const Explanation &);
/// Whether that is since another program ran, or this one before the source was changed: the names of files are the same though
/// the lines are not, or no such file is in the program. Else it may be that nothing here was reached.
bool isOfAnotherProgram(const Explanation &);
/// Whether the site is a nest's, not that of fault streams or of hints by hand.
bool isOfNest(const Site &);

/// The count of all sites of a remark, in the order of the statistics.
Counts totalOf(const std::vector<const Site *> &sites);

/// For people: at most 100 columns, whatever the length of the names. `libraries`: the lines of libraries as well, which are
/// only counted otherwise.
std::string explanationAsText(const Explanation &all, bool colours, bool libraries);

/// The version of the fields that explanationAsJson writes; docs/explain.md lists them.
inline constexpr int kExplanationVersion = 1;
std::string explanationAsJson(const Explanation &all);

} // namespace pagecast::cli
