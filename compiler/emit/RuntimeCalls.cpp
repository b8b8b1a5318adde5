// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime calls: declarations and calls.

#include "emit/RuntimeCalls.h"
#include "loops/Majors.h"
#include "pagecast/abi.h"

#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace pagecast {

CallingConv::ID conventionOf(const Module &M) {
  return Triple(M.getTargetTriple()).getArch() == Triple::x86_64 ? CallingConv::PreserveAll : CallingConv::C;
}

FunctionCallee runtimeFunction(Module &M, StringRef Name, FunctionType *T) {
  FunctionCallee Callee = M.getOrInsertFunction(Name, T);
  auto *F = dyn_cast<Function>(Callee.getCallee());
  if (!F || !F->isDeclaration() || F->hasExternalWeakLinkage()) return Callee;
  F->setLinkage(GlobalValue::ExternalWeakLinkage);
  F->addFnAttr(Attribute::NoUnwind);
  F->addFnAttr(Attribute::Cold);
  F->addFnAttr(Attribute::NonLazyBind); // a call through the GOT needs no PLT entry
  F->setCallingConv(conventionOf(M));
  F->setMemoryEffects(MemoryEffects::inaccessibleOrArgMemOnly());
  for (Argument &A : F->args())
    if (A.getType()->isPointerTy()) F->addParamAttr(A.getArgNo(), Attribute::NoCapture);
  return Callee;
}

FunctionCallee nextFunction(Module &M) {
  Type *I64 = Type::getInt64Ty(M.getContext()), *Ptr = PointerType::get(M.getContext(), 0);
  return runtimeFunction(M, "__pagecast_next", FunctionType::get(I64, {I64, I64, Ptr}, false));
}

CallInst *callWithTicket(IRBuilder<> &B, Module &M, StringRef Name, Value *Ticket) {
  Type *I64 = B.getInt64Ty();
  Value *Nothing = PoisonValue::get(I64);
  FunctionCallee Callee = runtimeFunction(M, Name, FunctionType::get(B.getVoidTy(), {I64, I64, B.getPtrTy()}, false));
  CallInst *Call = B.CreateCall(Callee, {Nothing, Nothing, Ticket});
  Call->setCallingConv(conventionOf(M));
  return Call;
}

CallInst *callEnter(IRBuilder<> &B, Module &M, Value *Nest, ArrayRef<Value *> Words) {
  Type *I64 = B.getInt64Ty(), *Ptr = B.getPtrTy();
  SmallVector<Value *, 7> Passed{Nest};
  append_range(Passed, Words);
  // The first is a pointer, so that what lies in memory is known to be read.
  if (Passed.size() > 1) Passed[1] = B.CreateBitOrPointerCast(Passed[1], Ptr);
  else Passed.push_back(PoisonValue::get(Ptr));
  Passed.resize(1 + PAGECAST_REGISTER_WORDS, PoisonValue::get(I64));
  auto *T = FunctionType::get(StructType::get(I64, Ptr), {Ptr, Ptr, I64, I64, I64, I64, I64}, false);
  FunctionCallee Callee = runtimeFunction(M, "__pagecast_enter", T);
  auto *Entry = dyn_cast<Function>(Callee.getCallee());
  if (Entry) {
    Entry->addParamAttr(1, Attribute::ReadOnly);
    Entry->removeFnAttr(Attribute::Memory); // each call says for itself
  }
  CallInst *Both = B.CreateCall(Callee, Passed);
  Both->setCallingConv(conventionOf(M));
  if (Both->getCallingConv() == CallingConv::PreserveAll) {
    Both->addParamAttr(0, Attribute::Nest); // in %r10
    if (Entry) Entry->addParamAttr(0, Attribute::Nest);
  }
  return Both;
}

static FunctionCallee transferFunction(Module &M, const char *Name, bool Copies) {
  LLVMContext &C = M.getContext();
  Type *I64 = Type::getInt64Ty(C), *Ptr = PointerType::get(C, 0);
  Type *Types[] = {Ptr, Copies ? Ptr : Type::getInt8Ty(C), I64, Ptr};
  FunctionCallee Callee = runtimeFunction(M, Name, FunctionType::get(Type::getVoidTy(C), Types, false));
  if (auto *F = dyn_cast<Function>(Callee.getCallee())) {
    F->setCallingConv(CallingConv::C);
    if (!Copies) F->addParamAttr(1, Attribute::ZExt);
  }
  return Callee;
}

FunctionCallee copyFunction(Module &M) { return transferFunction(M, "__pagecast_copy", true); }
FunctionCallee fillFunction(Module &M) { return transferFunction(M, "__pagecast_fill", false); }

} // namespace pagecast
