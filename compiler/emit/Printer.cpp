// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The printer: nests, groups and refusals line by line.

#include "emit/Printer.h"
#include "emit/SourceNames.h"
#include "emit/Tables.h"
#include "pagecast/abi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pagecast {
namespace {

void printFlags(unsigned Flags, raw_ostream &OS) {
  static constexpr std::pair<unsigned, const char *> Names[] = {
      {PAGECAST_READS, " reads"},      {PAGECAST_WRITES, " writes"},           {PAGECAST_INDIRECT, " indirect"},
      {PAGECAST_INDEX, " index"},      {PAGECAST_CONDITIONAL, " conditional"}, {PAGECAST_OVERWRITES, " overwrites"},
      {PAGECAST_COMPARED, " compared"}};
  for (auto [Bit, Name] : Names)
    if (Flags & Bit) OS << Name;
}

void printGroup(const Group &G, unsigned Number, raw_ostream &OS) {
  OS << "    group " << Number << ":";
  printFlags(G.Flags, OS);
  OS << " element=" << G.Element << " [" << G.Lo << ", " << G.Hi << ") base=" << *G.Form.Base;
  if (G.indirect()) {
    OS << " indices=" << G.Index.size();
    if (G.Target.Step) OS << " range=" << *G.Target.Step;
  } else {
    OS << " strides={";
    ListSeparator Comma;
    for (const SCEV *Stride : G.Form.Stride) OS << Comma << *Stride;
    OS << "} reuse={";
    ListSeparator ReuseComma;
    for (const SCEV *Stride : G.Form.Stride) OS << ReuseComma << reuseName(Stride);
    OS << "}";
  }
  OS << " members=" << G.Members.size();
  if (DebugLoc Where = G.where()) OS << " leading=" << Where.getLine() << ":" << Where.getCol();
  if (std::string Name = sourceName(G); !Name.empty()) OS << " name=" << Name;
  OS << "\n";
}

void printNest(const Nest &N, unsigned Number, raw_ostream &OS) {
  OS << "  nest " << Number << ": loops=" << N.Loops.size() << " ticked=" << N.Ticked << " strips=" << N.Strips
     << (N.Sliced ? " sliced" : "") << " bytes=" << N.Bytes << "\n";
  for (unsigned K = 0; K < N.Loops.size(); ++K) {
    OS << "    loop " << K << ": ";
    N.Loops[K]->getHeader()->printAsOperand(OS, /*PrintType=*/false);
    OS << " backedges=" << *N.Backedges[K] << "\n";
  }
  for (unsigned G = 0; G < N.Groups.size(); ++G) printGroup(N.Groups[G], G, OS);
}

} // namespace

void printNests(const NestList &List, raw_ostream &OS) {
  for (unsigned I = 0; I < List.Nests.size(); ++I) printNest(List.Nests[I], I, OS);
  for (const Refused &R : List.Refusals) {
    OS << "  refused " << nameOf(R.Why) << " in ";
    R.In->printAsOperand(OS, /*PrintType=*/false);
    if (R.Where) OS << " at " << R.Where.getLine() << ":" << R.Where.getCol();
    OS << "\n";
  }
}

} // namespace pagecast
