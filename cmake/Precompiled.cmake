# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Most of the time of a build from scratch went into reading the same headers again: LLVM's for each file of the pass, and
# GoogleTest's for each file of tests.

# A compiler cache keeps objects, and what is precompiled keeps them from being found again: it has one of both.
set(pagecast_precompile_default ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(pagecast_precompile_default OFF)
endif()
option(PAGECAST_PRECOMPILE "precompile the headers of LLVM and GoogleTest" ${pagecast_precompile_default})

# Tests are compiled more often than they run, and run for seconds: what they test has -O2, and they have -O1.
# The first target of the tests has the headers precompiled for all.
function(pagecast_unit_test target prefix)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -O1)
  get_target_property(sources ${target} SOURCES)
  if(PAGECAST_PRECOMPILE AND NOT sources MATCHES "\\.c(;|$)") # they are C++
    get_property(first GLOBAL PROPERTY pagecast_precompiled_tests)
    if(first)
      target_precompile_headers(${target} REUSE_FROM ${first})
    else()
      target_precompile_headers(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/tests/unit/precompiled.h>")
      set_property(GLOBAL PROPERTY pagecast_precompiled_tests ${target})
    endif()
  endif()
  gtest_discover_tests(${target} TEST_PREFIX ${prefix}. PROPERTIES ${ARGN})
endfunction()
