# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests of the pass plugin. Run by hand:
#
#     lit -v -DPLUGIN=<build>/lib/pagecast/pagecast-llvm19.so tests/lit
#
# Parameters: PLUGIN (or $PAGECAST_PLUGIN), the plugin; LLVM_BIN (or $PAGECAST_LLVM_BIN), the folder
# of opt, clang and FileCheck of the same LLVM major; default /usr/lib/llvm-19/bin.

import os

import lit.formats


def parameter(name, default=None):
    return lit_config.params.get(name) or os.environ.get("PAGECAST_" + name) or default


config.name = "pagecast-compiler"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".ll", ".c", ".cpp"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

plugin = parameter("PLUGIN")
if not plugin or not os.path.isfile(plugin):
    lit_config.fatal("the plugin is not there: give -DPLUGIN=<path of pagecast-llvm19.so>")
plugin = os.path.abspath(plugin)
llvm_bin = parameter("LLVM_BIN", "/usr/lib/llvm-19/bin")
if not os.path.isfile(os.path.join(llvm_bin, "FileCheck")):
    lit_config.fatal("no FileCheck in " + llvm_bin + ": give -DLLVM_BIN=<folder>")

config.test_exec_root = parameter("OUT", os.path.join(os.path.dirname(plugin), "lit"))

inputs = os.path.join(config.test_source_root, "Inputs")
headers = os.path.abspath(os.path.join(config.test_source_root, "../../runtime/include"))
tool = lambda name: os.path.join(llvm_bin, name)

config.environment["PATH"] = os.pathsep.join([llvm_bin, os.environ.get("PATH", "")])
config.environment["CLANG"] = tool("clang")
config.environment["CLANGXX"] = tool("clang++")
config.environment["PLUGIN"] = plugin
config.environment["HEADERS"] = headers
config.environment["INPUTS"] = inputs

# The first match is replaced first: longer names stand before their prefixes.
config.substitutions += [
    ("%plugin", plugin),
    ("%headers", headers),
    ("%inputs", inputs),
    ("%differential", "sh " + os.path.join(inputs, "differential.sh")),
    # C to simplified loops, as they stand where the pass runs; then the printer of the analysis.
    ("%nests", "sh " + os.path.join(inputs, "nests.sh")),
    ("%clangxx", tool("clang++")),
    ("%clang", tool("clang")),
    ("%pagecast-opt", tool("opt") + " -load-pass-plugin " + plugin + " -S"),
    ("%pagecast-clang", tool("clang") + " -fpass-plugin=" + plugin),
    ("%FileCheck", tool("FileCheck")),
]
