// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of whole transfers: the declarations.

#include "emit/TransferCall.h"
#include "emit/RuntimeCalls.h"

using namespace llvm;

namespace pagecast {
namespace {

FunctionCallee declare(Module &M, const char *Name, bool Copies) {
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

} // namespace

FunctionCallee copyFunction(Module &M) { return declare(M, "__pagecast_copy", true); }
FunctionCallee fillFunction(Module &M) { return declare(M, "__pagecast_fill", false); }

} // namespace pagecast
