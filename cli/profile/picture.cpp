// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/picture.h"
#include "cli/text/spelling.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>

namespace pagecast::cli {
namespace {

constexpr double kLeft = 80, kTop = 40, kWidth = 900, kHeight = 260, kBetween = 70, kLegend = 130;
constexpr size_t kMostPanels = 8;
/// Colours that people who see few of them tell apart (Okabe and Ito).
constexpr const char *kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b0a000"};
/// The size of a patch in which one of several members has its colour, in epochs and pieces.
constexpr uint64_t kPatchEpochs = 4, kPatchPieces = 8;

__attribute__((format(printf, 1, 2))) std::string format(const char *text, ...) {
  char out[1024];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(out, sizeof out, text, arguments);
  va_end(arguments);
  return out;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (const char c : text)
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) out += '?';
    else out += c;
  return out;
}

std::string colourOf(size_t member, size_t count) {
  if (count <= std::size(kColours)) return kColours[member];
  return format("hsl(%.0f,75%%,%d%%)", 360.0 * double(member) / double(count), member % 2 ? 35 : 55);
}

/// One data set's part of the picture.
class Panel {
public:
  Panel(const Profile &profile, uint32_t dataSet, double top)
      : profile_(profile), dataSet_(dataSet), top_(top), set_(profile.dataSets[dataSet]),
        pieces_((set_.blocks() + set_.grain() - 1) / set_.grain()) {}

  std::string draw(const std::vector<Sharing> &sharings, const Thresholds &thresholds) {
    std::string out = axes();
    out += bands();
    for (size_t p = 0; p < sharings.size(); ++p) out += rings(profile_.phases[p], sharings[p], thresholds);
    return out;
  }

private:
  double x(double epoch) const { return kLeft + kWidth * epoch / profile_.epochs; }
  double y(double piece) const { return top_ + kHeight * (1 - piece / double(std::max<uint64_t>(pieces_, 1))); }

  std::string axes() const {
    std::string out = format("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#888\"/>\n", kLeft, top_,
                             kWidth, kHeight);
    out += format("<text x=\"%g\" y=\"%g\" class=\"t\">%.300s</text>\n", kLeft, top_ - 8, escaped(set_.path).c_str());
    for (int quarter = 0; quarter <= 4; ++quarter) {
      out += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%s</text>\n", kLeft - 6, y(double(pieces_) * quarter / 4) + 4,
                    showSize(set_.bytes * unsigned(quarter) / 4).c_str());
      out += format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%u</text>\n", x(profile_.epochs * quarter / 4.0),
                    top_ + kHeight + 16, profile_.epochs * unsigned(quarter) / 4);
    }
    return out + format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">epoch</text>\n", kLeft + kWidth / 2, top_ + kHeight + 32);
  }

  /// Who touches each piece in each epoch, and one line of a colour for each row of pieces that one of them has.
  std::string bands() const {
    std::map<uint32_t, std::vector<std::vector<uint32_t>>> epochs;
    for (const ProfilePhase &phase : profile_.phases)
      for (const Touched &touched : phase.touched) {
        if (touched.dataSet != dataSet_) continue;
        for (const EpochRange &run : touched.epochs) {
          auto &column = epochs[run.epoch];
          column.resize(pieces_);
          for (uint64_t p = run.first; p < std::min(pieces_, run.first + run.count); ++p)
            if (column[p].empty() || column[p].back() != touched.member) column[p].push_back(touched.member);
        }
      }
    std::vector<std::string> paths(profile_.members.size());
    for (const auto &[epoch, column] : epochs) drawColumn(epoch, column, &paths);
    std::string out;
    for (size_t m = 0; m < paths.size(); ++m)
      if (!paths[m].empty())
        out += format("<path class=\"touched\" stroke=\"%s\" stroke-width=\"%.2f\" fill=\"none\" d=\"",
                      colourOf(m, paths.size()).c_str(), std::max(kWidth / profile_.epochs, 1.0)) +
               paths[m] + "\"/>\n";
    return out;
  }

  void drawColumn(uint32_t epoch, const std::vector<std::vector<uint32_t>> &column, std::vector<std::string> *paths) const {
    const auto of = [&](uint64_t p) {
      const std::vector<uint32_t> &members = column[p];
      return members.empty() ? ~0u : members[(epoch / kPatchEpochs + p / kPatchPieces) % members.size()];
    };
    for (uint64_t p = 0; p < column.size();) {
      uint64_t end = p + 1;
      const uint32_t member = of(p);
      while (end < column.size() && of(end) == member) ++end;
      if (member != ~0u) (*paths)[member] += format("M%.1f %.1fV%.1f", x(epoch + 0.5), y(double(p)), y(double(end)));
      p = end;
    }
  }

  std::string rings(const ProfilePhase &phase, const Sharing &sharing, const Thresholds &thresholds) const {
    std::string out;
    for (const auto &cluster : sharing.clusters) {
      if (cluster.size() < 2) continue;
      uint64_t left = ~uint64_t{0}, right = 0, low = ~uint64_t{0}, high = 0;
      for (const uint32_t index : cluster)
        for (const Touched &touched : phase.touched)
          if (touched.member == sharing.members[index] && touched.dataSet == dataSet_)
            for (const EpochRange &run : touched.epochs) {
              left = std::min<uint64_t>(left, run.epoch), right = std::max<uint64_t>(right, run.epoch + 1);
              low = std::min(low, run.first), high = std::max(high, run.first + run.count);
            }
      if (left >= right) continue;
      const double width = x(double(right)) - x(double(left)), height = y(double(low)) - y(double(high));
      out += format("<ellipse class=\"cluster\" cx=\"%.1f\" cy=\"%.1f\" rx=\"%.1f\" ry=\"%.1f\" fill=\"none\" stroke=\"#222\" "
                    "stroke-width=\"1.5\"%s><title>%s: members %s</title></ellipse>\n",
                    x(double(left)) + width / 2, y(double(high)) + height / 2, width / 2 * 1.1 + 5, height / 2 * 1.05 + 5,
                    cluster.size() < thresholds.smallest ? " stroke-dasharray=\"5 4\"" : "", escaped(phase.name).c_str(),
                    escaped(commaList(namesOf(profile_, sharing, cluster))).substr(0, 600).c_str());
    }
    return out;
  }

  const Profile &profile_;
  const uint32_t dataSet_;
  const double top_;
  const ProfileDataSet &set_;
  const uint64_t pieces_;
};

std::string legend(const Profile &profile) {
  std::string out;
  const size_t shown = std::min<size_t>(profile.members.size(), 32);
  for (size_t m = 0; m < shown; ++m) {
    const double top = kTop + 18 * double(m);
    out += format("<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%g\" y=\"%g\">%s</text>\n",
                  kLeft + kWidth + 20, top, colourOf(m, profile.members.size()).c_str(), kLeft + kWidth + 38, top + 10,
                  escaped((profile.members[m].rank < 0 ? "" : "rank ") + profile.members[m].name).c_str());
  }
  if (shown < profile.members.size())
    out += format("<text x=\"%g\" y=\"%g\">and %zu more</text>\n", kLeft + kWidth + 20, kTop + 18 * double(shown) + 10,
                  profile.members.size() - shown);
  return out;
}

/// The data sets of which most is touched, at most so many, in the profile's order.
std::vector<uint32_t> shownDataSets(const Profile &profile) {
  std::map<uint32_t, uint64_t> blocks;
  for (const ProfilePhase &phase : profile.phases)
    for (const Touched &touched : phase.touched)
      for (const BlockRange &run : touched.blocks) blocks[touched.dataSet] += run.count;
  std::vector<uint32_t> out;
  for (const auto &[dataSet, _] : blocks) out.push_back(dataSet);
  std::stable_sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) { return blocks[a] > blocks[b]; });
  if (out.size() > kMostPanels) out.resize(kMostPanels);
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

std::string pictureOf(const Profile &profile, const std::vector<Sharing> &sharings, const Thresholds &thresholds) {
  const std::vector<uint32_t> dataSets = shownDataSets(profile);
  const double height = std::max(kTop + double(dataSets.size()) * (kHeight + kBetween),
                                 kTop + 18 * double(std::min<size_t>(profile.members.size(), 33)));
  std::string out =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
             kLeft + kWidth + kLegend, height);
  for (size_t i = 0; i < dataSets.size(); ++i)
    out += Panel(profile, dataSets[i], kTop + double(i) * (kHeight + kBetween)).draw(sharings, thresholds);
  return out + legend(profile) + "</svg>\n";
}

} // namespace pagecast::cli
