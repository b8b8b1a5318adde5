// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: construction.
//
//     entry:    nothing to do for count == 0
//     prepare:  fields of touch[], live values, affine values at (index[], first)
//     body:     index loads, address trees; one filter per indirect group
//     check.j / miss.j / next.j
#include "Slice.h"
#include "pagecast/abi.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pagecast {
namespace {

// The fields of pagecast_touch that the filter reads, in registers.
struct Touch {
  Value *Self, *Low, *Size, *Map, *Shift;
};

constexpr unsigned TouchWords = sizeof(pagecast_touch) / sizeof(uint64_t);
static_assert(sizeof(pagecast_touch) == 5 * sizeof(uint64_t), "one word per field");

class SliceBuilder {
public:
  SliceBuilder(const Nest &N, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE)
      : N(N), LI(LI), DT(DT), SE(SE), Parent(*N.root()->getHeader()->getParent()), C(Parent.getContext()), P(C), B(C) {
  }

  Slice run() {
    createFunction();
    createLoop();
    Block = Body;
    for (unsigned J = 0; J < Addresses.size(); ++J)
      filter(Addresses[J], Touches[J]);
    closeLoop();
    return std::move(Result);
  }

private:
  const Nest &N;
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  Function &Parent;
  LLVMContext &C;
  IRBuilder<> P; ///< at the end of `prepare`: computed once
  IRBuilder<> B; ///< at the end of the current block of the loop
  Slice Result;
  Value *LiveArgument, *IndexArgument, *First, *Count, *TouchArgument;
  BasicBlock *Prepare, *Body, *Block, *Done;
  PHINode *Iteration;
  Value *End;
  SmallVector<Touch, 4> Touches;
  SmallVector<Value *, 4> Addresses;
  DenseMap<const void *, Value *> LiveOf;
  DenseMap<Value *, Value *> Mapped;

  Type *i64() { return Type::getInt64Ty(C); }
  ConstantInt *word(uint64_t V) { return ConstantInt::get(Type::getInt64Ty(C), V); }

  void createFunction() {
    Type *Ptr = PointerType::get(C, 0);
    auto *T = FunctionType::get(Type::getVoidTy(C), {Ptr, Ptr, i64(), i64(), Ptr}, false);
    Function *F = Function::Create(T, GlobalValue::InternalLinkage, Parent.getName() + ".pagecast.slice",
                                   Parent.getParent());
    F->addFnAttr(Attribute::NoInline);
    F->addFnAttr("nopagecast");
    F->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    // Unwind tables: a fault in the slice may be left by the runtime through its frame.
    for (StringRef Inherited : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
      if (Parent.hasFnAttribute(Inherited))
        F->addFnAttr(Parent.getFnAttribute(Inherited));
    if (Parent.hasUWTable())
      F->setUWTableKind(Parent.getUWTableKind());
    static constexpr const char *Names[] = {"live", "index", "first", "count", "touch"};
    for (unsigned I = 0; I < 5; ++I)
      F->getArg(I)->setName(Names[I]);
    LiveArgument = F->getArg(0);
    IndexArgument = F->getArg(1);
    First = F->getArg(2);
    Count = F->getArg(3);
    TouchArgument = F->getArg(4);
    Result.Code = F;
  }

  void createLoop() {
    Function *F = Result.Code;
    auto *Entry = BasicBlock::Create(C, "entry", F);
    Prepare = BasicBlock::Create(C, "prepare", F);
    Body = BasicBlock::Create(C, "body", F);
    Done = BasicBlock::Create(C, "done", F);
    P.SetInsertPoint(Entry);
    P.CreateCondBr(P.CreateICmpEQ(Count, word(0)), Done, Prepare);
    IRBuilder<>(Done).CreateRetVoid();
    P.SetInsertPoint(Prepare);
    End = P.CreateAdd(First, Count, "end");
    B.SetInsertPoint(Body);
    Iteration = B.CreatePHI(i64(), 2, "iteration");
    Iteration->addIncoming(First, Prepare);
    unsigned Number = 0;
    for (const Group &G : N.Groups) {
      if (!G.indirect())
        continue;
      Touches.push_back(loadTouch(Number++));
      Addresses.push_back(B.CreatePtrToInt(valueOf(G.Tree.Address), i64(), "address"));
    }
  }

  Touch loadTouch(unsigned Number) {
    Value *Self = P.CreateConstInBoundsGEP1_64(i64(), TouchArgument, uint64_t(Number) * TouchWords, "touch.self");
    auto Field = [&](unsigned Word, Type *T, const char *Name) {
      return P.CreateAlignedLoad(T, P.CreateConstInBoundsGEP1_64(i64(), Self, Word), Align(8), Name);
    };
    return {Self, Field(0, i64(), "low"), Field(1, i64(), "size"), Field(2, P.getPtrTy(), "map"),
            Field(3, i64(), "shift")};
  }

  // if (address - low < size && !(map[address >> shift >> 3] >> (address >> shift & 7) & 1)) miss
  void filter(Value *Address, const Touch &T) {
    Function *F = Result.Code;
    auto *Check = BasicBlock::Create(C, "check", F, Done);
    auto *Miss = BasicBlock::Create(C, "miss", F, Done);
    auto *Next = BasicBlock::Create(C, "next", F, Done);
    MDNode *Unlikely = MDBuilder(C).createBranchWeights(1, 2000);
    B.CreateCondBr(B.CreateICmpULT(B.CreateSub(Address, T.Low), T.Size), Check, Next);
    B.SetInsertPoint(Check);
    Value *Page = B.CreateLShr(Address, T.Shift, "page");
    Value *Byte = B.CreateLoad(B.getInt8Ty(), B.CreateGEP(B.getInt8Ty(), T.Map, B.CreateLShr(Page, word(3))));
    Value *Bit = B.CreateLShr(B.CreateZExt(Byte, B.getInt32Ty()), B.CreateTrunc(B.CreateAnd(Page, word(7)), B.getInt32Ty()));
    Value *Absent = B.CreateICmpEQ(B.CreateAnd(Bit, B.getInt32(1)), B.getInt32(0), "absent");
    B.CreateCondBr(Absent, Miss, Next, Unlikely);
    B.SetInsertPoint(Miss);
    Value *Callee = B.CreateAlignedLoad(
        B.getPtrTy(), B.CreateConstInBoundsGEP1_64(i64(), T.Self, TouchWords - 1), Align(8), "on.miss");
    auto *CalleeType = FunctionType::get(B.getVoidTy(), {B.getPtrTy(), i64()}, false);
    CallInst *Call = B.CreateCall(CalleeType, Callee, {T.Self, Address});
    Call->addFnAttr(Attribute::Cold);
    B.CreateBr(Next);
    B.SetInsertPoint(Next);
    Block = Next;
  }

  void closeLoop() {
    Value *NextIteration = B.CreateAdd(Iteration, word(1), "iteration.next");
    Iteration->addIncoming(NextIteration, Block);
    B.CreateCondBr(B.CreateICmpEQ(NextIteration, End), Done, Body);
    P.CreateBr(Body);
  }

  Value *live(const void *Key, LiveValue V) {
    Value *&Loaded = LiveOf[Key];
    if (!Loaded) {
      Loaded = P.CreateAlignedLoad(i64(), P.CreateConstInBoundsGEP1_64(i64(), LiveArgument, Result.Live.size()),
                                   Align(8), "live");
      Result.Live.push_back(V);
    }
    return Loaded;
  }

  Value *wordOf(const SCEV *S) {
    if (const auto *Known = dyn_cast<SCEVConstant>(S))
      return word(Known->getAPInt().sextOrTrunc(64).getZExtValue());
    return live(S, {S, nullptr});
  }

  /// The form at the current iteration, as a word.
  Value *evaluate(const AffineForm &Form) {
    Value *Start = wordOf(Form.Base);
    unsigned Innermost = Form.Stride.size() - 1;
    for (unsigned K = 0; K < Innermost; ++K) {
      if (Form.Stride[K]->isZero())
        continue;
      Value *Number = P.CreateAlignedLoad(i64(), P.CreateConstInBoundsGEP1_64(i64(), IndexArgument, K), Align(8));
      Start = P.CreateAdd(Start, P.CreateMul(Number, wordOf(Form.Stride[K])));
    }
    if (Form.Stride[Innermost]->isZero())
      return Start;
    return B.CreateAdd(Start, B.CreateMul(Iteration, wordOf(Form.Stride[Innermost])));
  }

  static Value *fromWord(IRBuilder<> &At, Value *Word, Type *T) {
    return T->isPointerTy() ? At.CreateIntToPtr(Word, T) : At.CreateTrunc(Word, T);
  }

  Value *loadIndex(LoadInst *Load, const AffineForm &Address) {
    // An index of an outer loop is the same for all iterations here.
    IRBuilder<> &At = Address.Stride.back()->isZero() ? P : B;
    Value *Pointer = fromWord(At, evaluate(Address), PointerType::get(C, 0));
    return At.CreateAlignedLoad(Load->getType(), Pointer, Load->getAlign(), "index");
  }

  // Flags go: what was never poison in the program may be in an iteration that it does not reach.
  Value *repeat(Instruction *I) {
    SmallVector<Value *, 4> Operands;
    for (Value *Operand : I->operands())
      Operands.push_back(valueOf(Operand));
    Instruction *Copy = I->clone();
    for (unsigned K = 0; K < Operands.size(); ++K)
      Copy->setOperand(K, Operands[K]);
    Copy->dropPoisonGeneratingFlags();
    Copy->dropUnknownNonDebugMetadata();
    Copy->setDebugLoc(DebugLoc());
    return B.Insert(Copy);
  }

  Value *valueOf(Value *V) {
    if (auto Found = Mapped.find(V); Found != Mapped.end())
      return Found->second;
    Node Is = classifyNode(V, N.Loops, LI, DT, SE);
    Value *Mine = nullptr;
    switch (Is.Is) {
    case Node::Constant:
      Mine = V;
      break;
    case Node::Invariant:
      Mine = fromWord(P, live(V, {nullptr, V}), V->getType());
      break;
    case Node::Affine:
      Mine = fromWord(Is.Form.Stride.back()->isZero() ? P : B, evaluate(Is.Form), V->getType());
      break;
    case Node::Index:
      Mine = loadIndex(cast<LoadInst>(V), Is.Form);
      break;
    case Node::Operation:
      Mine = repeat(cast<Instruction>(V));
      break;
    case Node::Refused:
      llvm_unreachable("recognised before");
    }
    Mapped[V] = Mine;
    return Mine;
  }
};

} // namespace

Slice buildSlice(const Nest &N, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  if (N.indirectGroups() == 0)
    return {};
  Slice Result;
  Result.Forms = formsOf(N, SE);
  if (!Result.Forms.empty())
    return Result;
  return SliceBuilder(N, LI, DT, SE).run();
}

} // namespace pagecast
