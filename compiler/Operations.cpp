// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations: the tables.

#include "Operations.h"
#include "pagecast/abi.h"

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

} // namespace pagecast
