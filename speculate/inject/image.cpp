// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/image.h"

asm(R"(
  .section .rodata
  .balign 16
  .globl pagecast_copy_image, pagecast_copy_image_end
pagecast_copy_image:
  .incbin ")" PAGECAST_COPY_IMAGE R"("
pagecast_copy_image_end:
  .text
)");
