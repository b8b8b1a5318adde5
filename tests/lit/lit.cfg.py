# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests of the pass plugin. Run by hand:
#
#     lit -v --param PLUGIN=<build>/lib/pagecast/pagecast-llvm19.so tests/lit
#
# Parameters: PLUGIN (or $PAGECAST_PLUGIN), the plugin; LLVM_BIN (or $PAGECAST_LLVM_BIN), the folder
# of opt, clang and FileCheck of the same LLVM major; default /usr/lib/llvm-19/bin.

import os
import shlex
import subprocess

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

config.test_exec_root = os.path.abspath(parameter("OUT", os.path.join(os.path.dirname(plugin), "lit")))

inputs = os.path.join(config.test_source_root, "Inputs")
headers = os.path.abspath(os.path.join(config.test_source_root, "../../runtime/include"))
fake_runtime = os.path.join(config.test_exec_root, "fake_runtime.o")


def tool(name):
    return os.path.join(llvm_bin, name)


def command(*words):
    """The words as the shell takes them: paths may have anything in them."""
    return " ".join(shlex.quote(word) for word in words)


# Most tests that run programs link it: it is compiled once for all of them.
os.makedirs(config.test_exec_root, exist_ok=True)
subprocess.run([tool("clang"), "-O2", "-I" + headers, "-c", os.path.join(inputs, "fake_runtime.c"), "-o", fake_runtime], check=True)

# Some tests say what 19 finds out of loops, where 16 makes other code of them, or knows less.
major = subprocess.run([tool("clang"), "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
config.available_features.add(f"llvm-{major}")

config.environment["PATH"] = os.pathsep.join([llvm_bin, os.environ.get("PATH", "")])
config.environment["CLANG"] = tool("clang")
config.environment["CLANGXX"] = tool("clang++")
config.environment["PLUGIN"] = plugin
config.environment["FAKE_RUNTIME"] = fake_runtime

# The first match is replaced first: longer names stand before their prefixes. In the tests "%s" and "%t" stand in quotes.
config.substitutions += [
    ("%plugin", command(plugin)),
    ("%headers", command(headers)),
    ("%fake-runtime", command(fake_runtime)),
    ("%differential", command("sh", os.path.join(inputs, "differential.sh"))),
    # C to simplified loops, as they stand where the pass runs; then the printer of the analysis.
    ("%nests", command("sh", os.path.join(inputs, "nests.sh"))),
    ("%clangxx", command(tool("clang++"))),
    ("%clang", command(tool("clang"))),
    ("%pagecast-opt", command(tool("opt"), "-load-pass-plugin", plugin, "-S")),
    ("%pagecast-clang", command(tool("clang"), "-fpass-plugin=" + plugin)),
    ("%FileCheck", command(tool("FileCheck"))),
]
