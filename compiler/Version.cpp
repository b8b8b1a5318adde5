// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Versions: the copying.

#include "Version.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace pagecast {
namespace {

bool mentions(const MDNode *ID, StringRef Prefix) {
  for (const MDOperand &Operand : ID->operands())
    if (const auto *Entry = dyn_cast_or_null<MDNode>(Operand); Entry && Entry->getNumOperands())
      if (const auto *Name = dyn_cast<MDString>(Entry->getOperand(0)); Name && Name->getString().starts_with(Prefix))
        return true;
  return false;
}

// A loop's ID is its own: the copy gets one with the same contents. It waits for memory rather than
// for instructions, so it is not unrolled or interleaved unless the source asks for it: it vectorizes
// to the same width in a fraction of the code.
void renewLoopID(Loop *Copy) {
  BasicBlock *Latch = Copy->getLoopLatch();
  LLVMContext &Context = Latch->getContext();
  MDNode *Old = Copy->getLoopID();
  SmallVector<Metadata *, 4> Operands{nullptr};
  if (Old)
    append_range(Operands, drop_begin(Old->operands()));
  if (!Old || !mentions(Old, "llvm.loop.unroll."))
    Operands.push_back(MDNode::get(Context, MDString::get(Context, "llvm.loop.unroll.disable")));
  if (!Old || !(mentions(Old, "llvm.loop.vectorize.") || mentions(Old, "llvm.loop.interleave.")))
    Operands.push_back(MDNode::get(Context, {MDString::get(Context, "llvm.loop.interleave.count"),
                                             ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(Context), 1))}));
  MDNode *New = MDNode::getDistinct(Context, Operands);
  New->replaceOperandWith(0, New);
  Copy->setLoopID(New);
}

void addExits(Loop *L, const ValueToValueMapTy &Map) {
  SmallVector<BasicBlock *, 4> Exits;
  L->getUniqueExitBlocks(Exits);
  for (BasicBlock *Exit : Exits)
    for (PHINode &Phi : Exit->phis())
      for (unsigned I = 0, E = Phi.getNumIncomingValues(); I < E; ++I) {
        auto Block = Map.find(Phi.getIncomingBlock(I));
        if (Block == Map.end())
          continue;
        Value *V = Phi.getIncomingValue(I);
        auto Copied = Map.find(V);
        Phi.addIncoming(Copied == Map.end() ? V : static_cast<Value *>(Copied->second),
                        cast<BasicBlock>(Block->second));
      }
}

} // namespace

bool canVersion(const Loop *L) {
  for (const BasicBlock *Block : L->blocks()) {
    if (Block->hasAddressTaken() || isa<IndirectBrInst>(Block->getTerminator()) ||
        isa<CallBrInst>(Block->getTerminator()))
      return false;
    for (const Instruction &I : *Block)
      if (const auto *Call = dyn_cast<CallBase>(&I); Call && Call->cannotDuplicate())
        return false;
  }
  return true;
}

Loop *versionLoop(Loop *L, Value *Condition, MDNode *Weights, LoopInfo &LI, DominatorTree &DT) {
  BasicBlock *Check = L->getLoopPreheader();
  BasicBlock *Preheader = SplitBlock(Check, Check->getTerminator(), &DT, &LI);
  ValueToValueMapTy Map;
  SmallVector<BasicBlock *, 8> Blocks;
  Loop *Copy = cloneLoopWithPreheader(Preheader, Check, L, Map, ".hinted", &LI, &DT, Blocks);
  remapInstructionsInBlocks(Blocks, Map);
  renewLoopID(Copy);
  addExits(L, Map);

  auto *Choice = BranchInst::Create(Copy->getLoopPreheader(), Preheader, Condition, Check);
  Choice->setDebugLoc(L->getStartLoc());
  Choice->setMetadata(LLVMContext::MD_prof, Weights);
  std::prev(Choice->getIterator())->eraseFromParent();
  // What only the loop dominated is now reached from its copy as well.
  for (BasicBlock *Block : L->blocks()) {
    SmallVector<BasicBlock *, 4> Outside;
    for (DomTreeNode *Child : DT.getNode(Block)->children())
      if (!L->contains(Child->getBlock()))
        Outside.push_back(Child->getBlock());
    for (BasicBlock *Child : Outside)
      DT.changeImmediateDominator(Child, Check);
  }
  formDedicatedExitBlocks(L, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  formDedicatedExitBlocks(Copy, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  return Copy;
}

} // namespace pagecast
