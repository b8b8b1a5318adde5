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

# What headers make of templates, GCC makes for each file again, precompiled or not: of LLVM's a second for each file of the pass,
# of JSON's two for those of the command. So a build from scratch compiles several files as one. For a compiler cache each stands
# for itself.
option(PAGECAST_GROUP "compile the files of the pass and of the command in groups" ${pagecast_precompile_default})

# In groups of at most so many files, in their order in the target.
function(pagecast_group target size)
  if(PAGECAST_GROUP)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

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
