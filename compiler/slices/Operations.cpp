// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations: the tables.

#include "slices/Operations.h"
#include "pagecast/abi.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace pagecast {

std::optional<unsigned> operationOf(SCEVTypes Type) {
  switch (Type) {
  case scAddExpr: return PAGECAST_OP_ADD;
  case scMulExpr: return PAGECAST_OP_MUL;
  case scUMaxExpr: return PAGECAST_OP_UMAX;
  case scSMaxExpr: return PAGECAST_OP_SMAX;
  case scUMinExpr:
  case scSequentialUMinExpr: return PAGECAST_OP_UMIN;
  case scSMinExpr: return PAGECAST_OP_SMIN;
  case scUDivExpr: return PAGECAST_OP_UDIV;
  default: return std::nullopt;
  }
}

std::optional<unsigned> operationOf(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::Add: return PAGECAST_OP_ADD;
  case Instruction::Sub: return PAGECAST_OP_SUB;
  case Instruction::Mul: return PAGECAST_OP_MUL;
  case Instruction::And: return PAGECAST_OP_AND;
  case Instruction::Or: return PAGECAST_OP_OR;
  case Instruction::Xor: return PAGECAST_OP_XOR;
  case Instruction::Shl: return PAGECAST_OP_SHL;
  case Instruction::LShr: return PAGECAST_OP_LSHR;
  case Instruction::AShr: return PAGECAST_OP_ASHR;
  case Instruction::UDiv: return PAGECAST_OP_UDIV;
  case Instruction::URem: return PAGECAST_OP_UREM;
  case Instruction::SDiv: return PAGECAST_OP_SDIV;
  case Instruction::SRem: return PAGECAST_OP_SREM;
  case Instruction::FAdd: return PAGECAST_OP_FADD;
  case Instruction::FSub: return PAGECAST_OP_FSUB;
  case Instruction::FMul: return PAGECAST_OP_FMUL;
  case Instruction::FDiv: return PAGECAST_OP_FDIV;
  default: return std::nullopt;
  }
}

Comparison comparisonOf(CmpInst::Predicate Predicate) {
  switch (Predicate) {
  case CmpInst::ICMP_EQ: return {PAGECAST_OP_EQ, false};
  case CmpInst::ICMP_NE: return {PAGECAST_OP_NE, false};
  case CmpInst::ICMP_ULT: return {PAGECAST_OP_ULT, false};
  case CmpInst::ICMP_ULE: return {PAGECAST_OP_ULE, false};
  case CmpInst::ICMP_UGT: return {PAGECAST_OP_ULT, true};
  case CmpInst::ICMP_UGE: return {PAGECAST_OP_ULE, true};
  case CmpInst::ICMP_SLT: return {PAGECAST_OP_SLT, false};
  case CmpInst::ICMP_SLE: return {PAGECAST_OP_SLE, false};
  case CmpInst::ICMP_SGT: return {PAGECAST_OP_SLT, true};
  case CmpInst::ICMP_SGE: return {PAGECAST_OP_SLE, true};
  default: llvm_unreachable("not a comparison of integers");
  }
}

std::optional<FloatingComparison> floatingComparisonOf(CmpInst::Predicate Predicate) {
  switch (Predicate) {
  case CmpInst::FCMP_OEQ:
  case CmpInst::FCMP_UEQ: return {{PAGECAST_OP_FEQ, false, false}};
  case CmpInst::FCMP_ONE:
  case CmpInst::FCMP_UNE: return {{PAGECAST_OP_FEQ, false, true}};
  case CmpInst::FCMP_OLT: return {{PAGECAST_OP_FLT, false, false}};
  case CmpInst::FCMP_OLE: return {{PAGECAST_OP_FLE, false, false}};
  case CmpInst::FCMP_OGT: return {{PAGECAST_OP_FLT, true, false}};
  case CmpInst::FCMP_OGE: return {{PAGECAST_OP_FLE, true, false}};
  case CmpInst::FCMP_ULT: return {{PAGECAST_OP_FLE, true, true}};
  case CmpInst::FCMP_ULE: return {{PAGECAST_OP_FLT, true, true}};
  case CmpInst::FCMP_UGT: return {{PAGECAST_OP_FLE, false, true}};
  case CmpInst::FCMP_UGE: return {{PAGECAST_OP_FLT, false, true}};
  default: return std::nullopt;
  }
}

static std::optional<FloatingFunction> intrinsicFunctionOf(Intrinsic::ID ID) {
  switch (ID) {
  case Intrinsic::floor: return {{PAGECAST_OP_FWHOLE, PAGECAST_DOWN, false}};
  case Intrinsic::ceil: return {{PAGECAST_OP_FWHOLE, PAGECAST_UP, false}};
  case Intrinsic::trunc: return {{PAGECAST_OP_FWHOLE, PAGECAST_TOWARD_ZERO, false}};
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven: return {{PAGECAST_OP_FWHOLE, PAGECAST_TO_EVEN, false}};
  case Intrinsic::round: return {{PAGECAST_OP_FWHOLE, PAGECAST_AWAY, false}};
  case Intrinsic::lrint:
  case Intrinsic::llrint: return {{PAGECAST_OP_FWHOLE, PAGECAST_TO_EVEN, true}};
  case Intrinsic::lround:
  case Intrinsic::llround: return {{PAGECAST_OP_FWHOLE, PAGECAST_AWAY, true}};
  case Intrinsic::sqrt: return {{PAGECAST_OP_FSQRT, 0, false}};
  case Intrinsic::minnum:
  case Intrinsic::minimum: return {{PAGECAST_OP_FMIN, 0, false}};
  case Intrinsic::maxnum:
  case Intrinsic::maximum: return {{PAGECAST_OP_FMAX, 0, false}};
  default: return std::nullopt;
  }
}

std::optional<FloatingFunction> floatingFunctionOf(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || !F->isDeclaration()) return std::nullopt;
  if (F->isIntrinsic()) return intrinsicFunctionOf(F->getIntrinsicID());
  // Functions that may set errno are no intrinsics.
  return StringSwitch<std::optional<FloatingFunction>>(Call.isNoBuiltin() ? "" : F->getName())
      .Cases("sqrt", "sqrtf", FloatingFunction{PAGECAST_OP_FSQRT, 0, false})
      .Cases("lrint", "lrintf", "llrint", "llrintf", FloatingFunction{PAGECAST_OP_FWHOLE, PAGECAST_TO_EVEN, true})
      .Cases("lround", "lroundf", "llround", "llroundf", FloatingFunction{PAGECAST_OP_FWHOLE, PAGECAST_AWAY, true})
      .Default(std::nullopt);
}

std::optional<unsigned> floatingCastOf(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::FPToSI: return PAGECAST_OP_FTOS;
  case Instruction::FPToUI: return PAGECAST_OP_FTOU;
  case Instruction::SIToFP: return PAGECAST_OP_STOF;
  case Instruction::UIToFP: return PAGECAST_OP_UTOF;
  case Instruction::FPExt:
  case Instruction::FPTrunc: return PAGECAST_OP_FTOF;
  default: return std::nullopt;
  }
}

} // namespace pagecast
