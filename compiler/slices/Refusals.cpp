// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refusals: their names and sentences.

#include "slices/Refusals.h"

using namespace llvm;

namespace pagecast {

StringRef nameOf(Refusal Why) {
  switch (Why) {
  case Refusal::None: return "None";
  case Refusal::NonAffine: return "NonAffine";
  case Refusal::VariantStride: return "VariantStride";
  case Refusal::LoopCarried: return "LoopCarried";
  case Refusal::IndirectDepth: return "IndirectDepth";
  case Refusal::UnknownTripCount: return "UnknownTripCount";
  case Refusal::TooManyGroups: return "TooManyGroups";
  case Refusal::SliceTooLarge: return "SliceTooLarge";
  case Refusal::NotStripMinable: return "NotStripMinable";
  case Refusal::AddressFromCall: return "AddressFromCall";
  case Refusal::HiddenByCall: return "HiddenByCall";
  }
  return "";
}

StringRef explain(Refusal Why) {
  switch (Why) {
  case Refusal::None: return "hinted";
  case Refusal::NonAffine:
    return "not hinted: the address is neither affine in the loops nor computed from loaded values by operations that slices have";
  case Refusal::VariantStride: return "not hinted: a stride changes inside the nest";
  case Refusal::LoopCarried: return "not hinted: the address depends on what earlier iterations computed";
  case Refusal::IndirectDepth: return "not hinted: the index is reached through too many indices";
  case Refusal::UnknownTripCount: return "loop not hinted: its trip count is not known on entry";
  case Refusal::TooManyGroups: return "not hinted: the nest has too many groups";
  case Refusal::SliceTooLarge: return "not hinted: the address computations of the nest are too long";
  case Refusal::NotStripMinable: return "loop not hinted: it cannot be split into strips";
  case Refusal::AddressFromCall:
    return "a call: what the loop around goes over next is not known before it, so that each iteration is hinted by itself";
  case Refusal::HiddenByCall: return "a call: what the function touches is hinted inside it, if at all";
  }
  return "";
}

} // namespace pagecast
