# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The front door: `make help` lists what there is. The work itself is CMake's (CMakeLists.txt).

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
# The system's Python: its venv module is among the packages that `make deps` installs.
PYTHON  ?= /usr/bin/python3
VENV    := $(BUILD)/venv
IN_VENV := $(VENV)/bin/python
# What is built for users: the folders of CMakeLists.txt but for tests.
ROOMS   := compiler core simulator runtime nbd speculate storage cli

# $(call venv,FILE,VENV): an environment that has what FILE pins. It is made again when FILE has changed.
define venv
cmp -s $(1) $(2)/requirements.txt || { \
	  echo 'deps: making $(2) with' $$(grep -v '^#' $(1)); \
	  rm -rf $(2) && $(PYTHON) -m venv $(2) && \
	  $(2)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r $(1) && \
	  cp $(1) $(2)/requirements.txt; }
endef

.PHONY: help deps venv build units plugin16 test check test-real stress sanitize fuzz demo demo-incore hint-cost nine unmodified people field cases releases cliff share interactive speculate sharing sharing-sim manual docs wheel deb install clean
.DEFAULT_GOAL := help

help: ## this list
	@echo 'Pagecast: programs on more data than memory, at the speed of the disk. Targets:'
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what is missing of Debian packages (needs root or sudo)
	@sh cmake/deps.sh

venv: deps
	@$(call venv,requirements.txt,$(VENV))

build: deps ## build what is used, into build/; the command is build/bin/pagecast
	@cmake -S . -B $(BUILD) -G Ninja --log-level=WARNING
	@ninja -C $(BUILD) $(addsuffix /all,$(ROOMS)) # by itself: it stops at signals, which cmake --build does not pass on
	@echo 'build: the command is $(BUILD)/bin/pagecast; $(BUILD)/bin/pagecast doctor says what this machine allows'

units: build # the unit tests take a third of the time of a whole build, and who only uses Pagecast has no use for them
	@ninja -C $(BUILD)

plugin16: build ## the plugin for Debian's older clang, too: PAGECAST_CLANG=clang-16 pagecast cc (needs llvm-16-dev and clang-16)
	@cmake -S compiler -B $(BUILD)/llvm16 -G Ninja -DPAGECAST_LLVM_MAJOR=16 --log-level=WARNING
	@ninja -C $(BUILD)/llvm16
	@cp $(BUILD)/llvm16/lib/pagecast/pagecast-llvm16.so $(BUILD)/lib/pagecast/

test: units venv ## build and run every test; the last line counts them
	@$(IN_VENV) tests/system/run_all.py --build $(BUILD)

check: units venv ## the fast tests: units, the pass, texts, ten whole programs
	@$(IN_VENV) tests/system/run_all.py --build $(BUILD) --check

stress: units ## a million random operations on a pager whose disk fails: SEED=1 OPS=1000000 (minutes)
	@PAGECAST_STRESS_SEED=$(or $(SEED),1) PAGECAST_STRESS_OPS=$(or $(OPS),1000000) $(BUILD)/tests/faults_test --gtest_filter='PagerStress.Buffered'

sanitize: venv ## unit tests of core, runtime, simulator and storage under the address, undefined and thread sanitizers: SANITIZERS=thread
	@for kind in $(or $(SANITIZERS),address undefined thread); do \
	  sh tests/unit/sanitize.sh $$kind $(BUILD)/sanitize-$$kind || exit 1; done

fuzz: build venv ## random programs with and without pagecast: N=2000 SEED=1 JOBS=2 FUZZ_ARGS=
	@$(IN_VENV) tests/fuzz/fuzz.py --build $(BUILD) --number $(or $(N),2000) --seed $(or $(SEED),1) $(if $(JOBS),--jobs $(JOBS)) $(FUZZ_ARGS)

test-real: build venv ## Debian's array programs: their own tests, plain and paged (REAL_ARGS='--packages gsl'; an hour); others under speculate: --speculate
	@$(IN_VENV) tests/real/real.py --build $(BUILD) $(REAL_ARGS)

demo: build venv ## the main job under a 256 MiB limit: in core, on swap, with pagecast (root; minutes)
	@$(IN_VENV) bench demo --build $(BUILD) $(DEMO_ARGS)

demo-incore: build venv ## what pagecast costs when the data fits in memory (minutes)
	@$(IN_VENV) bench incore --build $(BUILD) $(DEMO_ARGS)

hint-cost: build ## what a hint costs whose page is in memory, nanoseconds
	@$(BUILD)/bin/pagecast cc -O3 -I runtime/include apps/hintcost/hintcost.c -o $(BUILD)/hintcost
	@$(BUILD)/bin/pagecast run --memory 32M -- $(BUILD)/hintcost

nine: build venv ## the nine programs against all targets, as a Markdown table (root; an hour)
	@$(IN_VENV) bench nine --build $(BUILD) $(NINE_ARGS)

unmodified: build venv ## numpy, pandas and scikit-learn as they are, over 2.4 to 3.4 times their memory (root; minutes)
	@$(call venv,bench/requirements.txt,$(BUILD)/venv-bench)
	@$(IN_VENV) bench unmodified --build $(BUILD) --python $(BUILD)/venv-bench/bin/python $(UNMODIFIED_ARGS)

people: build venv ## scripts in Python, R and Octave as people write them, over 3 times their memory (root; ten minutes; PEOPLE_ARGS=--quick: three)
	@$(call venv,bench/requirements.txt,$(BUILD)/venv-bench)
	@$(IN_VENV) bench unmodified --build $(BUILD) --python $(BUILD)/venv-bench/bin/python --programs people --limit 256M --multiple 3 \
	  --runs 1 --timeout 40 --json results/people.json $(PEOPLE_ARGS)

field: build venv ## six workloads beside versions by hand, mmap and swap, as a Markdown table (root; half an hour)
	@$(IN_VENV) bench field --build $(BUILD) $(FIELD_ARGS)

cases: build venv ## programs of the kinds that once lost: in core, on swap, with slices and without (root; ten minutes)
	@$(IN_VENV) bench cases --build $(BUILD) $(CASES_ARGS)

releases: build venv ## what releases are worth: the nine programs with three policies (root; half an hour)
	@$(IN_VENV) bench releases --build $(BUILD) $(RELEASES_ARGS)

cliff: build venv ## hot data a little larger than memory, in no order: in core, on swap, with pagecast (root; CLIFF_ARGS='--programs buk,hash')
	@$(IN_VENV) bench cliff --build $(BUILD) $(CLIFF_ARGS)

share: build venv ## how much of a memory limit holds the program's own pages, and what takes the rest (root; a minute)
	@$(IN_VENV) bench share --build $(BUILD) $(SHARE_ARGS)

interactive: build venv ## an interactive task beside the nine programs (root; hours; INTERACTIVE_ARGS=--quick: minutes)
	@$(IN_VENV) bench interactive --build $(BUILD) $(INTERACTIVE_ARGS)

speculate: build venv ## hints by speculative execution on slow storage and the disk (root; ten minutes; SPECULATE_ARGS=--quick: three)
	@$(IN_VENV) bench speculate --build $(BUILD) $(SPECULATE_ARGS)

sharing: build venv ## who should prefetch into a shared storage cache: four programs of 8 ranks against one I/O node (SHARING_ARGS='--only hf')
	@$(IN_VENV) bench sharing --build $(BUILD) $(SHARING_ARGS)

sharing-sim: build venv ## who should prefetch into a shared storage cache: simulated figures of the paper (half a minute)
	@$(IN_VENV) bench sharing_sim --build $(BUILD) $(SHARING_ARGS)

manual: build venv ## put the runtime's table of options into docs/options.md
	@$(IN_VENV) docs/manual.py $(BUILD)/lib/libpagecast.so

docs: ## the documents as a site in build/site; links that lead nowhere are errors
	@$(call venv,docs/requirements.txt,$(BUILD)/docs-venv)
	@$(BUILD)/docs-venv/bin/python -m sphinx -q -W --keep-going -n -b html -c docs -d $(BUILD)/site.doctrees . $(BUILD)/site
	@echo 'docs: $(BUILD)/site/index.html'

wheel: build venv ## a wheel for pip in build/wheel: the command, the runtime, the plugin, hints for arrays
	@$(IN_VENV) python/make_wheel.py --build $(BUILD)

deb: build ## Debian packages in build/deb: pagecast and libpagecast-dev (needs debhelper and dpkg-dev)
	@$(IN_VENV) packaging/deb/make_deb.py --build $(BUILD) --output $(BUILD)/deb

install: build ## install command, plugin, runtime, header, CMake package: PREFIX=/usr/local DESTDIR=
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)' >$(BUILD)/install.log || \
	  { cat $(BUILD)/install.log; exit 1; }
	@echo 'installed into $(DESTDIR)$(PREFIX); files: $(BUILD)/install_manifest.txt'

clean: ## remove build/ and results/
	rm -rf $(BUILD) results
