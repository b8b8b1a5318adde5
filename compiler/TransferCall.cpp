// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of whole transfers: the functions.

#include "TransferCall.h"
#include "Entries.h"

#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace pagecast {
namespace {

constexpr char CopyName[] = ".pagecast.copy", FillName[] = ".pagecast.fill";

FunctionCallee declare(Module &M, const char *Name, bool Copies) {
  LLVMContext &C = M.getContext();
  Type *I64 = Type::getInt64Ty(C), *Ptr = PointerType::get(C, 0);
  SmallVector<Type *, 8> Types{Ptr, Ptr, Copies ? Ptr : Type::getInt8Ty(C), I64};
  Types.append(TransferWords, I64);
  FunctionCallee Callee = M.getOrInsertFunction(Name, FunctionType::get(Type::getVoidTy(C), Types, false));
  auto *F = cast<Function>(Callee.getCallee());
  for (Attribute::AttrKind Kind : {Attribute::NoUnwind, Attribute::Cold, Attribute::NoInline}) F->addFnAttr(Kind);
  F->setMemoryEffects(MemoryEffects::inaccessibleOrArgMemOnly());
  for (Argument &A : F->args())
    if (A.getType()->isPointerTy()) F->addParamAttr(A.getArgNo(), Attribute::NoCapture);
  return Callee;
}

/// to[Begin..End): from there, or of the value.
void transfer(IRBuilder<> &B, Function &F, Value *Begin, Value *End) {
  Value *To = B.CreateGEP(B.getInt8Ty(), F.getArg(1), Begin), *From = F.getArg(2), *Bytes = B.CreateSub(End, Begin);
  if (!From->getType()->isPointerTy()) B.CreateMemSet(To, From, Bytes, Align(1));
  else B.CreateMemMove(To, Align(1), B.CreateGEP(B.getInt8Ty(), From, Begin), Align(1), Bytes);
}

/// Strips go upwards: where that is not as good as any order, all is one piece, and no nest.
BasicBlock *takeBackwards(Function &F, BasicBlock *Entry) {
  LLVMContext &C = F.getContext();
  BasicBlock *Whole = BasicBlock::Create(C, "whole", &F), *Open = BasicBlock::Create(C, "open", &F);
  IRBuilder<> B(Entry);
  Value *Distance = B.CreateSub(B.CreatePtrToInt(F.getArg(1), B.getInt64Ty()), B.CreatePtrToInt(F.getArg(2), B.getInt64Ty()));
  B.CreateCondBr(B.CreateICmpULT(Distance, F.getArg(3)), Whole, Open);
  B.SetInsertPoint(Whole);
  transfer(B, F, B.getInt64(0), F.getArg(3));
  B.CreateRetVoid();
  return Open;
}

void define(Function &F) {
  LLVMContext &C = F.getContext();
  Module &M = *F.getParent();
  F.setLinkage(GlobalValue::InternalLinkage);
  BasicBlock *Open = BasicBlock::Create(C, "entry", &F);
  if (F.getArg(2)->getType()->isPointerTy()) Open = takeBackwards(F, Open);
  BasicBlock *Strip = BasicBlock::Create(C, "strip", &F), *Next = BasicBlock::Create(C, "next", &F);
  BasicBlock *Done = BasicBlock::Create(C, "done", &F);
  IRBuilder<> B(Open);
  SmallVector<Value *, TransferWords> Words;
  for (unsigned N = 0; N < TransferWords; ++N) Words.push_back(F.getArg(4 + N));
  Value *Opened = callEnter(B, M, F.getArg(0), Words), *Ticket = B.CreateExtractValue(Opened, 1),
        *Count = B.CreateExtractValue(Opened, 0);
  B.CreateBr(Strip);
  B.SetInsertPoint(Strip);
  PHINode *Begin = B.CreatePHI(B.getInt64Ty(), 2), *End = B.CreatePHI(B.getInt64Ty(), 2);
  transfer(B, F, Begin, End);
  B.CreateCondBr(B.CreateIsNull(Ticket), Done, Next);
  B.SetInsertPoint(Next);
  CallInst *Further = B.CreateCall(nextFunction(M), {Ticket, End, F.getArg(3)});
  Further->setCallingConv(conventionOf(M));
  B.CreateCondBr(B.CreateICmpEQ(Further, End), Done, Strip);
  Begin->addIncoming(B.getInt64(0), Open);
  Begin->addIncoming(End, Next);
  End->addIncoming(Count, Open);
  End->addIncoming(Further, Next);
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
}

} // namespace

FunctionCallee copyFunction(Module &M) { return declare(M, CopyName, true); }
FunctionCallee fillFunction(Module &M) { return declare(M, FillName, false); }

void defineTransferFunctions(Module &M) {
  for (const char *Name : {CopyName, FillName})
    if (Function *F = M.getFunction(Name); F && F->isDeclaration()) define(*F);
}

} // namespace pagecast
