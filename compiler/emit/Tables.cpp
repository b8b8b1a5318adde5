// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables: construction, field by field in the order of pagecast/abi.h.

#include "emit/Tables.h"
#include "loops/Majors.h"
#include "emit/SourceNames.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pagecast {
namespace {

struct Words {
  explicit Words(LLVMContext &C)
      : I8(Type::getInt8Ty(C)), I16(Type::getInt16Ty(C)), I32(Type::getInt32Ty(C)), I64(Type::getInt64Ty(C)),
        Ptr(PointerType::get(C, 0)) {}
  Type *I8, *I16, *I32, *I64;
  PointerType *Ptr;
  Constant *w8(uint64_t V) const { return ConstantInt::get(I8, V); }
  Constant *w16(uint64_t V) const { return ConstantInt::get(I16, V); }
  Constant *w32(uint64_t V) const { return ConstantInt::get(I32, V); }
  Constant *w64(uint64_t V) const { return ConstantInt::get(I64, V); }
  Constant *null() const { return ConstantPointerNull::get(Ptr); }
};

GlobalVariable *privateConstant(Module &M, Constant *Value, StringRef Name) {
  auto *G = new GlobalVariable(M, Value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, Value, Name);
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return G;
}

Constant *groupConstant(Module &M, const Group &G, DebugLoc Where) {
  Words W(M.getContext());
  Constant *Fields[] = {W.w32(G.Flags),
                        W.w32(G.Element),
                        W.w64(G.Lo),
                        W.w64(G.Hi),
                        W.w32(Where ? Where.getLine() : 0),
                        W.w32(Where ? Where.getCol() : 0),
                        stringConstant(M, sourceName(G))};
  return ConstantStruct::getAnon(Fields);
}

Constant *opConstant(LLVMContext &C, const pagecast_op &Op) {
  Words W(C);
  Constant *Fields[] = {W.w8(Op.code), W.w8(Op.depth), W.w8(Op.width), W.w8(0),        W.w16(Op.to),
                        W.w16(Op.a),   W.w16(Op.b),    W.w16(Op.c),    W.w32(Op.extra)};
  return ConstantStruct::getAnon(Fields);
}

Constant *opTable(Module &M, ArrayRef<pagecast_op> Ops, StringRef Name) {
  if (Ops.empty()) return Words(M.getContext()).null();
  SmallVector<Constant *, 16> Entries;
  for (const pagecast_op &Op : Ops) Entries.push_back(opConstant(M.getContext(), Op));
  auto *T = ArrayType::get(Entries.front()->getType(), Entries.size());
  return privateConstant(M, ConstantArray::get(T, Entries), Name);
}

Constant *constantTable(Module &M, ArrayRef<Constant *> Values) {
  Words W(M.getContext());
  if (Values.empty()) return W.null();
  return privateConstant(M, ConstantArray::get(ArrayType::get(W.I64, Values.size()), Values), ".pagecast.constants");
}

Constant *sliceTable(Module &M, const Slice &S) {
  Words W(M.getContext());
  if (S.empty()) return W.null();
  Constant *Fields[] = {W.w32(S.Ops.size()),
                        W.w16(S.Scalars),
                        W.w16(S.Vectors),
                        W.w32(S.Depths),
                        W.w32(S.HasLoops),
                        W.w32(S.Carried),
                        opTable(M, S.Ops, ".pagecast.ops")};
  return privateConstant(M, ConstantStruct::getAnon(Fields), ".pagecast.slice");
}

} // namespace

GlobalVariable *gateOf(Module &M) {
  if (GlobalVariable *Gate = M.getNamedGlobal(GateName)) return Gate;
  Words W(M.getContext());
  auto *T = ArrayType::get(W.I64, PAGECAST_GATES);
  SmallVector<Constant *, PAGECAST_GATES> Shut(PAGECAST_GATES, W.w64(~uint64_t(0)));
  auto *Gate =
      new GlobalVariable(M, T, /*isConstant=*/false, GlobalValue::InternalLinkage, ConstantArray::get(T, Shut), GateName);
  // The address of the gates leaves the module only in the constructor, which is added last. Until then no pass may conclude
  // that they are never written.
  Gate->setExternallyInitialized(true);
  Gate->setAlignment(Align(8));
  return Gate;
}

Constant *stringConstant(Module &M, StringRef Text) {
  Words W(M.getContext());
  if (Text.empty()) return W.null();
  return privateConstant(M, ConstantDataArray::getString(M.getContext(), Text), ".pagecast.str");
}

/// The function, by the name that the user gave it. Where lines are not known, each of its nests but the first has a number, too, in the
/// order of the code: so nests have names that other runs know, also those that were inlined.
static std::string nameOfNest(Function &F, bool HasLine) {
  constexpr char Count[] = "pagecast-nests-without-line";
  const DISubprogram *Sub = F.getSubprogram();
  const std::string Name = (Sub && !Sub->getName().empty() ? Sub->getName() : F.getName()).str();
  if (HasLine) return Name;
  unsigned Number = 0;
  F.getFnAttribute(Count).getValueAsString().getAsInteger(10, Number);
  F.addFnAttr(Count, std::to_string(++Number));
  return Number > 1 ? Name + "#" + std::to_string(Number) : Name;
}

GlobalVariable *nestTable(Module &M, const Nest &N, uint32_t Root, const Arguments &Passed) {
  LLVMContext &C = M.getContext();
  Words W(C);
  SmallVector<Constant *, 8> Groups;
  for (const Group &G : N.Groups) Groups.push_back(groupConstant(M, G, N.placeOf(G)));
  auto *GroupArray = ConstantArray::get(ArrayType::get(Groups.front()->getType(), Groups.size()), Groups);
  auto *Cache = new GlobalVariable(M, W.I64, /*isConstant=*/false, GlobalValue::InternalLinkage, W.w64(0), ".pagecast.cache");
  DebugLoc Where = N.root()->getStartLoc();
  SmallVector<pagecast_op, 16> Prologue = Passed.prologue();
  Constant *Fields[] = {W.w32(PAGECAST_ABI_VERSION),
                        W.w32(N.Loops.size()),
                        W.w32(N.Ticked),
                        W.w32(N.Strips),
                        W.w32(N.Groups.size()),
                        W.w32(N.Code.Live.size()),
                        W.w32(Passed.dynamic().size()),
                        W.w32(Passed.constants().size()),
                        privateConstant(M, GroupArray, ".pagecast.groups"),
                        privateConstant(M, Passed.table(C), ".pagecast.words"),
                        sliceTable(M, N.Code),
                        constantTable(M, Passed.constants()),
                        opTable(M, Prologue, ".pagecast.prologue"),
                        stringConstant(M, Where ? Where->getFilename() : StringRef(M.getSourceFileName())),
                        stringConstant(M, nameOfNest(*N.root()->getHeader()->getParent(), bool(Where))),
                        W.w32(Where ? Where.getLine() : 0),
                        W.w32(Prologue.size()),
                        Cache,
                        W.w32(N.Closes),
                        W.w32(Root)};
  return privateConstant(M, ConstantStruct::getAnon(C, Fields), ".pagecast.nest");
}

} // namespace pagecast
