// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// The program that this process is to watch, which has begun; 0: there is none, and this process is to do what its arguments say.
extern "C" int pagecast_begun_program;
