# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the commit that is built into OUTPUT, a C++ source, when it is another than there: cmake -DSOURCE=. -DOUTPUT=f -P this.
# Sources without a repository, as in an archive, have none.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "")
endif()
set(text "#include \"cli/text/version.h\"\nconst char *const pagecast::cli::kCommit = \"${commit}\";\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
