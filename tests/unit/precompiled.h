// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What most tests include, precompiled for all of them. Each names what it uses all the same: nothing includes this file.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>
