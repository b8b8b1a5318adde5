// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules: the table of large globals and the constructor.

#include "emit/Module.h"
#include "emit/Tables.h"
#include "pagecast/abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace pagecast {
namespace {

/// Before the program's own constructors (65535 by default, 101 and up if it asks), which may
/// already fill the globals. A runtime that is linked in statically must not rely on a
/// constructor later than this one; a shared one has been initialised by the loader.
constexpr int ConstructorPriority = 101;

constexpr char ConstructorName[] = "__pagecast_module_init";

/// Whether the runtime may make a region of it: from which size on it does is an option of the runtime (PAGECAST_LARGE).
bool mayBeLarge(const GlobalVariable &G, const DataLayout &DL) {
  if (G.isDeclarationForLinker() || G.isThreadLocal() || G.isConstant() || G.getAddressSpace() != 0) return false;
  // The table must not keep a local symbol of a discarded COMDAT alive.
  if (G.hasComdat() && G.hasLocalLinkage()) return false;
  return !G.getName().starts_with("llvm.") && DL.getTypeAllocSize(G.getValueType()).getFixedValue() >= PAGECAST_LEAST_GLOBAL;
}

GlobalVariable *constantTable(Module &M, Constant *Value, const char *Name) {
  return new GlobalVariable(M, Value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, Value, Name);
}

Constant *globalEntry(Module &M, GlobalVariable &G) {
  Type *I64 = Type::getInt64Ty(M.getContext());
  Constant *Fields[] = {&G, ConstantInt::get(I64, M.getDataLayout().getTypeAllocSize(G.getValueType())),
                        stringConstant(M, G.getName())};
  return ConstantStruct::getAnon(Fields);
}

Constant *moduleTable(Module &M, ArrayRef<GlobalVariable *> Large) {
  Type *I32 = Type::getInt32Ty(M.getContext());
  Constant *Globals = ConstantPointerNull::get(PointerType::get(M.getContext(), 0));
  if (!Large.empty()) {
    SmallVector<Constant *, 8> Entries;
    for (GlobalVariable *G : Large) Entries.push_back(globalEntry(M, *G));
    auto *T = ArrayType::get(Entries.front()->getType(), Entries.size());
    Globals = constantTable(M, ConstantArray::get(T, Entries), ".pagecast.globals");
  }
  Constant *Gate = M.getNamedGlobal(GateName); // of a module without nests there is none
  if (!Gate) Gate = ConstantPointerNull::get(PointerType::get(M.getContext(), 0));
  Constant *Fields[] = {ConstantInt::get(I32, PAGECAST_ABI_VERSION), ConstantInt::get(I32, Large.size()), Globals, Gate};
  return constantTable(M, ConstantStruct::getAnon(Fields), ".pagecast.module");
}

void addConstructor(Module &M, Constant *Table) {
  LLVMContext &C = M.getContext();
  Type *Void = Type::getVoidTy(C);
  Type *Ptr = PointerType::get(C, 0);
  auto *Init = Function::Create(FunctionType::get(Void, false), GlobalValue::InternalLinkage, ConstructorName, M);
  Init->addFnAttr(Attribute::NoUnwind);
  Init->addFnAttr(Attribute::OptimizeForSize);
  Init->addFnAttr(Attribute::MinSize);
  FunctionCallee Register = M.getOrInsertFunction("__pagecast_register", FunctionType::get(Void, {Ptr}, false));
  if (auto *F = dyn_cast<Function>(Register.getCallee()); F && F->isDeclaration()) {
    F->setLinkage(GlobalValue::ExternalWeakLinkage);
    F->addFnAttr(Attribute::NonLazyBind); // a call through the GOT needs no PLT entry
  }
  auto *Entry = BasicBlock::Create(C, "entry", Init);
  auto *Call = BasicBlock::Create(C, "register", Init);
  auto *Done = BasicBlock::Create(C, "done", Init);
  IRBuilder<> B(Entry);
  B.CreateCondBr(B.CreateIsNotNull(Register.getCallee()), Call, Done);
  B.SetInsertPoint(Call);
  B.CreateCall(Register, {Table})->setTailCall();
  B.CreateRetVoid();
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
  appendToGlobalCtors(M, Init, ConstructorPriority);
}

} // namespace

PreservedAnalyses PagecastModulePass::run(Module &M, ModuleAnalysisManager &) {
  if (M.getDataLayout().getPointerSizeInBits(0) != 64 || M.getFunction(ConstructorName)) return PreservedAnalyses::all();
  SmallVector<GlobalVariable *, 8> Large;
  for (GlobalVariable &G : M.globals())
    if (mayBeLarge(G, M.getDataLayout())) Large.push_back(&G);
  if (Large.empty() && !M.getNamedGlobal(GateName)) return PreservedAnalyses::all();
  addConstructor(M, moduleTable(M, Large));
  return PreservedAnalyses::none();
}

} // namespace pagecast
