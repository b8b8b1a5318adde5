// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/record.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include <optional>
#include <sstream>
#include <yaml-cpp/yaml.h>

namespace pagecast::cli {
namespace {

constexpr const char *kPass = "pagecast";

/// Arguments that are mere words of the sentence have this key.
constexpr const char *kWords = "String";

bool startsWith(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

Failure notARecord(const std::string &path, const std::string &why) {
  return Failure{path + " is not an optimization record: " + why +
                 "; give a source, or what a compilation with -fsave-optimization-record wrote"};
}

Remark::Kind kindOf(const std::string &tag) {
  return tag == "!Passed" ? Remark::Kind::kPassed : tag == "!Missed" ? Remark::Kind::kMissed : Remark::Kind::kOther;
}

Remark toRemark(const YAML::Node &node) {
  Remark out;
  out.kind = kindOf(node.Tag());
  out.name = node["Name"].as<std::string>("");
  out.function = node["Function"].as<std::string>("");
  if (const YAML::Node at = node["DebugLoc"])
    out.at = {at["File"].as<std::string>(""), at["Line"].as<unsigned>(0), at["Column"].as<unsigned>(0)};
  for (const YAML::Node &argument : node["Args"])
    for (const auto &pair : argument)
      // A value may come with the place that it was defined at.
      if (pair.second.IsScalar()) out.arguments.emplace_back(pair.first.as<std::string>(), pair.second.as<std::string>());
  return out;
}

/// One document of the record, or nothing if it is of another pass: records of whole compilations are large,
/// and most of them are, so that is seen without parsing.
std::optional<Remark> toRemark(const std::string &document, const std::string &path) {
  const size_t field = document.find("\nPass:");
  if (field == std::string::npos) throw notARecord(path, "an entry in it names no pass");
  const size_t name = document.find_first_not_of(" \t'\"", field + 6);
  if (name == std::string::npos || document.compare(name, std::string(kPass).size(), kPass) != 0) return std::nullopt;
  try {
    const YAML::Node node = YAML::Load(document);
    if (node["Pass"].as<std::string>("") != kPass) return std::nullopt;
    return toRemark(node);
  } catch (const YAML::Exception &error) { throw notARecord(path, error.what()); }
}

} // namespace

std::string Remark::text() const {
  std::string out;
  for (const auto &[key, value] : arguments)
    if (key != kNest) out += value;
  return out;
}

std::string Remark::value(const std::string &key) const {
  for (const auto &[name, value] : arguments)
    if (name == key && key != kWords) return value;
  return "";
}

std::vector<Remark> readRecord(const std::string &path) {
  std::istringstream file(contentsOf(path, path, "; check the name"));
  std::vector<Remark> out;
  std::string line, document;
  const auto finish = [&] {
    if (const auto remark = document.empty() ? std::nullopt : toRemark(document, path)) out.push_back(*remark);
    document.clear();
  };
  while (std::getline(file, line)) {
    if (startsWith(line, "--- ")) finish();
    else if (document.empty())
      throw notARecord(path, startsWith(line, "RMRK")      ? "it is in the bitstream format, not in YAML"
                             : startsWith(line, "REMARKS") ? "it keeps its strings in a table apart"
                                                           : "it does not begin with '--- !'");
    document += line + "\n";
  }
  finish();
  return out;
}

} // namespace pagecast::cli
