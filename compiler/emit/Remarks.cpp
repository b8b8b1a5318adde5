// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks: their texts.

#include "emit/Remarks.h"
#include "emit/SourceNames.h"
#include "nests/Transfers.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pagecast {
namespace {

constexpr char PassName[] = "pagecast";

std::string accessOf(const Group &G) {
  bool Reads = G.Flags & PAGECAST_READS, Writes = G.Flags & PAGECAST_WRITES;
  std::string Text = G.Flags & PAGECAST_OVERWRITES ? "overwritten"
                     : Reads && Writes             ? "read and written"
                     : Writes                      ? "written"
                                                   : "read";
  if (G.Traced) Text += " where a search goes";
  else if (G.Searched) Text += " where a search begins";
  else if (G.Flags & PAGECAST_CONDITIONAL) Text += " conditionally";
  return Text;
}

template <typename List, typename Function> std::string joined(const List &Items, Function TextOf) {
  std::string Text;
  for (const auto &Item : Items) Text += (Text.empty() ? "" : ", ") + TextOf(Item);
  return Text;
}

/// Ends the sentence, and says where the outermost loop around it is, for `pagecast explain` to list remarks by.
template <typename Remark> Remark &&around(Remark &&R, const DebugLoc &Nest) {
  if (Nest) R << ore::setExtraArgs() << ore::NV("Nest", Nest);
  return std::forward<Remark>(R);
}

/// The call that the innermost loop stands for; empty: none. Its iterations are bytes, which nobody has written as a loop.
StringRef callOf(const Nest &N, const Group &G, const Transfers &T) {
  const Loop *L = N.Loops.back();
  const auto Parts = L->contains(G.Leading) ? T.parts(L) : std::nullopt;
  if (!Parts) return "";
  return !Parts->From ? "memset" : T.isMove(L) ? "memmove" : "memcpy";
}

OptimizationRemark hinted(const Nest &N, const Group &G, const Transfers &T) {
  using ore::NV;
  std::string Name = sourceName(G);
  DebugLoc Where = G.where();
  OptimizationRemark R(PassName, G.indirect() ? "HintedIndirect" : "Hinted", N.placeOf(G), G.Leading->getParent());
  R << NV("Array", Name.empty() ? "memory" : Name) << " " << NV("Access", accessOf(G));
  if (G.indirect()) {
    const auto Indices = unsigned(G.Index.size());
    if (Indices) R << " through " << NV("Indices", Indices) << (Indices == 1 ? " loaded index" : " loaded indices");
    else R << " at computed places"; // by arithmetic alone
    R << ": a slice runs ahead";
    return R;
  }
  ArrayRef<const SCEV *> Strides = ArrayRef(G.Form.Stride).drop_back(N.Beside);
  R << ": strides {" << NV("Strides", joined(Strides, [&](const SCEV *S) { return sourceText(S, Where); })) << "} bytes, reuse {"
    << NV("Reuse", joined(Strides, [](const SCEV *S) { return reuseName(S).str(); })) << "}";
  if (G.Members.size() > 1)
    R << ", group of " << NV("References", unsigned(G.Members.size())) << " references over bytes [" << NV("Low", G.Lo) << ", "
      << NV("High", G.Hi) << ")";
  if (StringRef Call = callOf(N, G, T); !Call.empty()) R << ", by a call of " << NV("Call", Call);
  if (G.Flags & PAGECAST_INDEX) R << ", index of an indirect reference";
  return R;
}

} // namespace

void emitRemarks(const NestList &List, const Transfers &T, OptimizationRemarkEmitter &ORE) {
  for (const Nest &N : List.Nests) {
    for (const Group &G : N.Groups)
      if (!(G.Flags & PAGECAST_COMPARED))
        ORE.emit([&] { return around(hinted(N, G, T), N.root()->getOutermostLoop()->getStartLoc()); });
    if (N.Strips)
      ORE.emit([&] {
        Loop *L = N.Loops[N.Ticked];
        return around(OptimizationRemark(PassName, "StripMined", L->getStartLoc(), L->getHeader())
                          << "loop split into strips: loop " << ore::NV("Loop", N.Ticked + 1) << " of "
                          << ore::NV("Loops", unsigned(N.Loops.size())) << " in its nest",
                      L->getOutermostLoop()->getStartLoc());
      });
  }
  for (const Refused &R : List.Refusals)
    ORE.emit([&] {
      OptimizationRemarkMissed Missed(PassName, nameOf(R.Why), R.Where, R.In);
      Missed << explain(R.Why);
      if (!R.Detail.empty()) Missed << ": " << ore::NV("Detail", R.Detail);
      return around(std::move(Missed), R.Nest);
    });
}

} // namespace pagecast
