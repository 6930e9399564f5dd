# The front door: every target is a few commands over CMake, Ninja and ctest.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DEMO_SECONDS ?=
PEERS_OPTIONS ?=
FUZZ_SECONDS ?= 60
SOAK_SEEDS ?= 100000
SOAK_FIRST ?= $(shell date +%s)000
HOSTILE_SECONDS ?= 3600
CAMPAIGN_HOSTS ?= 4
CAMPAIGN_SECONDS ?= 300
HOSTILE_BUILD ?= release
HOSTILE_OPTIONS ?= --program echo

TEST_PRESETS = dev clang asan tsan release
C_FOLDERS = $(wildcard src include functions test bench)
# All C files, separated by zero bytes. A corpus is input, not source.
C_FILES = { [ -z "$(C_FOLDERS)" ] || find $(C_FOLDERS) -name '*.[ch]' \
	-not -path 'test/fuzz/corpus/*' -print0; }

# DEMO_RATE is a share of what this machine can carry, or a rate such as 3/s.
DEMO_HTTP ?= 127.0.0.1:8000
DEMO_METRICS ?=
DEMO_RATE ?= 60%
DEMO_OPTIONS = --http $(DEMO_HTTP) $(addprefix --metrics ,$(DEMO_METRICS)) --rate $(DEMO_RATE) --why \
	$(addprefix --seconds ,$(DEMO_SECONDS))

.PHONY: help setup build demo test bench peers soak hostile campaign planted fuzz format format-check check install clean distclean
.NOTPARALLEL:

help: ## print the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

setup: ## install the Debian packages that are missing
	@tools/setup.sh

# A preset is configured once; after that Ninja sees changes of the CMake files itself.
# New layers are seen here.
build/%/build.ninja: CMakePresets.json $(wildcard src/*/CMakeLists.txt bench/CMakeLists.txt)
	@echo "configure: $*"; cmake --preset $* >/dev/null
	@touch $@

# Tests and benchmarks are most of the tree: targets that run them build them.
build: setup build/release/build.ninja ## build the release; the program is build/weft
	@ninja -C build/release program
	@ln -f build/release/bin/weft build/weft

demo: build ## serve real workflows on this machine (DEMO_SECONDS to end by itself)
	@tools/demo_repository.py build/release build/demo
	build/weft serve build/demo $(DEMO_OPTIONS) # DEMO_HTTP, DEMO_METRICS, DEMO_RATE and DEMO_SECONDS set these

# All are configured at once: that uses one processor each.
test: setup ## build with all compilers and sanitizers, run every test
	@set -e; for preset in $(TEST_PRESETS); do \
		$(MAKE) -s build/$$preset/build.ninja & started="$$started $$!"; done; \
		for process in $$started; do wait $$process; done
	@set -e; for preset in $(TEST_PRESETS); do \
		echo "build: $$preset"; ninja -C build/$$preset --quiet; done
	@ln -f build/release/bin/weft build/weft
	@ctest --preset dev -j $$((2 * $(JOBS) + 4)) # A test counts as two, one that waits as one.

bench: build ## run every benchmark of the release build
	@ninja -C build/release benches
	@set -e; for bench in build/release/bin/bench/bench_*; do \
		if [ -x "$$bench" ]; then echo "bench: $$bench"; "$$bench"; fi; done

peers: build ## measure Weft beside other servers, which it installs (PEERS_OPTIONS)
	@python3 -B bench/peers/run.py $(PEERS_OPTIONS)

soak: build ## let every allocation fail, then run the swarm over SOAK_SEEDS new seeds
	@ninja -C build/release test_sim_swarm failing_memory echo_server
	@WEFT=build/release/bin/weft MEMORY_ALL=1 python3 -B test/integration/test_memory.py
	@tools/soak.py build/release/bin/sim/test_swarm $(SOAK_FIRST) $(SOAK_SEEDS) --jobs $(JOBS)

hostile: build build/$(HOSTILE_BUILD)/build.ninja ## attack a server for HOSTILE_SECONDS, beside good clients
	@ninja -C build/$(HOSTILE_BUILD) --quiet weft echo_server
	@test/serving/hostile.py build/$(HOSTILE_BUILD) --seconds $(HOSTILE_SECONDS) $(HOSTILE_OPTIONS)

campaign: build ## break a cluster of CAMPAIGN_HOSTS namespaces at random for CAMPAIGN_SECONDS
	@WEFT=build/weft python3 -B test/integration/campaign.py --hosts $(CAMPAIGN_HOSTS) \
		--seconds $(CAMPAIGN_SECONDS) $(CAMPAIGN_OPTIONS)

planted: setup ## plant known bugs in a copy, one at a time, and show which tests find them
	@tools/plant_bugs.py --jobs $(JOBS)

# What is found goes to build/fuzz/corpus; inputs worth keeping are copied by hand.
fuzz: setup build/fuzz/build.ninja ## fuzz each parser for FUZZ_SECONDS
	@ninja -C build/fuzz --quiet
	@set -e; for fuzz in build/fuzz/bin/fuzz/fuzz_*; do \
		[ -x "$$fuzz" ] || continue; name=$${fuzz##*/fuzz_}; \
		echo "fuzz: $$name"; mkdir -p build/fuzz/corpus/$$name; \
		case $$name in cluster|mixture|profile|scenario|settings|workflow) \
			more="test/documents/bad test/documents/good scenarios/compass scenarios/demo";; \
			*) more=;; esac; \
		"$$fuzz" -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/$$name- \
			-print_final_stats=1 build/fuzz/corpus/$$name test/fuzz/corpus/$$name $$more; done

format: ## format all C files
	@$(C_FILES) | xargs -0 -r clang-format -i

format-check:
	@$(C_FILES) | xargs -0 -r clang-format --dry-run -Werror

# One file per process: clang-tidy 14 reports false va_list errors when given several.
check: setup format-check build/clang/build.ninja ## format, tidy, layers, pages and clang-tidy
	@tools/check_layers.py
	@tools/tidy.py
	@tools/check_pages.py
	@[ ! -d src ] || find src functions -name '*.c' -print0 | \
		xargs -0 -r -n 1 -P $(JOBS) clang-tidy -p build/clang --quiet

install: build ## install under PREFIX (DESTDIR is honoured)
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove what was built; downloads stay
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name deps ! -name models ! -name peers \
		-exec rm -rf {} +

distclean: ## remove downloads too
	rm -rf build
