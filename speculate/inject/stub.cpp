// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/stub.h"
#include <cstring>
#include <initializer_list>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace pagecast::speculate {
namespace {

/// Registers by their numbers in instructions.
enum Register : uint8_t { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8, kR9, kR10, kR11 };

class Assembler {
public:
  explicit Assembler(Stub &stub) : stub_(stub) {}

  void byte(uint8_t b) {
    if (stub_.length < kStubBytes) stub_.bytes[stub_.length] = b;
    stub_.length++;
  }
  void bytes(const void *from, unsigned count) {
    for (unsigned i = 0; i < count; i++) byte(static_cast<const uint8_t *>(from)[i]);
  }
  /// mov to the low half, which clears the high one.
  void set(Register to, uint32_t value) {
    if (to >= kR8) byte(0x41);
    byte(static_cast<uint8_t>(0xb8 + (to & 7)));
    bytes(&value, 4);
  }
  void set_all(Register to, uint64_t value) {
    byte(to >= kR8 ? 0x49 : 0x48);
    byte(static_cast<uint8_t>(0xb8 + (to & 7)));
    bytes(&value, 8);
  }
  void call() {
    stub_.call_at = stub_.length;
    byte(0x0f);
    byte(0x05);
  }
  unsigned here() const { return stub_.length; }
  void patch(unsigned at, uint8_t value) { stub_.bytes[at] = value; }

private:
  Stub &stub_;
};

void reap_copy(Assembler &a, pid_t copy) {
  a.set(kRax, SYS_wait4);
  a.set(kRdi, static_cast<uint32_t>(copy));
  a.set(kRsi, 0);
  a.set(kRdx, __WALL | WNOHANG);
  a.set(kR10, 0);
  a.call();
}

/// A child without a signal at its end: the program's own wait calls do not see it.
void clone_self(Assembler &a) {
  a.set(kRax, SYS_clone);
  for (const Register argument : {kRdi, kRsi, kRdx, kR10, kR8}) a.set(argument, 0);
  a.call();
}

void restore(Assembler &a, const user_regs_struct &back) {
  a.set_all(kRax, back.rax);
  a.set_all(kRcx, back.rcx);
  a.set_all(kRdx, back.rdx);
  a.set_all(kRsi, back.rsi);
  a.set_all(kRdi, back.rdi);
  a.set_all(kR8, back.r8);
  a.set_all(kR9, back.r9);
  a.set_all(kR10, back.r10);
  a.set_all(kR11, back.r11);
  const uint8_t jump_to_what_follows[] = {0xff, 0x25, 0, 0, 0, 0};
  a.bytes(jump_to_what_follows, sizeof jump_to_what_follows);
  a.bytes(&back.rip, 8);
}

} // namespace

Stub make_stub(const user_regs_struct &back, pid_t reap) {
  Stub stub;
  Assembler a(stub);
  if (reap > 0) reap_copy(a, reap);
  clone_self(a);
  const uint8_t exchange_rax_rcx[] = {0x48, 0x91}, jump_if_rcx_is_zero[] = {0xe3, 0};
  a.bytes(exchange_rax_rcx, 2);
  a.bytes(jump_if_rcx_is_zero, 2);
  const unsigned jump = a.here();
  const unsigned call_at = stub.call_at;
  restore(a, back);
  a.patch(jump - 1, static_cast<uint8_t>(a.here() - jump));
  a.set(kRax, SYS_exit_group);
  a.set(kRdi, 0);
  a.call();
  stub.call_at = call_at;
  memcpy(stub.bytes + kStubBytes - sizeof kStubMark, kStubMark, sizeof kStubMark);
  return stub;
}

} // namespace pagecast::speculate
