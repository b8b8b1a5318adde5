// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pthread_atfork() is made of. Handlers of others run while there is a pager, in the parent and in the child: an allocator
// whose memory is paged takes its locks in them, and gives them back. So ours are registered first, whoever comes before our
// constructor.
#include "runtime/process/fork.h"

extern "C" __attribute__((visibility("default"))) int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                                                        void *object) noexcept {
  pagecast::watch_forks();
  return pagecast::register_with_library(prepare, parent, child, object);
}
