# The commands of foretoken. `make demo` and `make test` need nothing installed beforehand but make.
BUILD := build/release
JOBS ?= $(shell nproc)
empty :=
space := $(empty) $(empty)
SANITIZED := http_test http_server_test
PREFIX ?= /usr/local
CMAKE_BUILD := cmake --build

# Another libtorch's build is apart: CMake keeps where it found the libraries of the first.
TRAIN_BUILD = $(if $(TORCH),build/torch,$(BUILD))
TRAIN_CMAKE = $(if $(TORCH),--fresh -B $(TRAIN_BUILD) -DTorch_DIR=$(abspath $(TORCH))/share/cmake/Torch)

.PHONY: demo test train toy install bench docs format lint asan asan-quick tsan tsan-quick serve-check check-long page-check clean help
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

demo: ## install what is missing, build, fetch SmolLM2 (98 MB) and show what speculation gains on it
	@scripts/setup.sh engine
	@cmake --preset release -DFT_TRAIN=OFF -DFT_TESTS=OFF >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target foretoken
	@scripts/fetch_model.sh models "the demo takes the small model that comes along" || true
	$(BUILD)/foretoken demo

test: ## install what is missing, build everything, and run every test
	@scripts/setup.sh engine train test
	@cmake --preset release -DFT_TRAIN=ON -DFT_TESTS=ON >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS)
	ctest --preset release -j $(JOBS); status=$$?; $(BUILD)/untried_sets; exit $$status

train: ## build the trainer, with Debian's libtorch or that of TORCH=FOLDER (a PyTorch wheel's torch folder, as for CUDA)
	@scripts/setup.sh engine $(if $(TORCH),,train)
	@cmake --preset release $(TRAIN_CMAKE) -DFT_TRAIN=ON -DFT_TESTS=OFF | grep 'foretoken train:'
	@$(CMAKE_BUILD) $(TRAIN_BUILD) -j $(JOBS) --target foretoken foretoken_train
	@echo "$(TRAIN_BUILD)/foretoken train hass --target my.gguf --data my.jsonl --out runs/x --budget 20m"

install: ## build foretoken and install it, its manual pages and completions under PREFIX (/usr/local), with sudo if needed
	@scripts/setup.sh engine
	@cmake --preset release -DFT_TRAIN=OFF -DFT_TESTS=OFF >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target foretoken
	@mkdir -p "$(DESTDIR)$(PREFIX)" 2>/dev/null || true
	@[ -w "$(DESTDIR)$(PREFIX)" ] || as=sudo; $$as env DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

toy: ## show that a drafter is one folder and one line: add a toy to the build, try it, remove it
	@scripts/setup.sh engine train test
	@cmake --preset release -DFT_TESTS=ON >/dev/null
	tests/toy_drafter/run.sh $(BUILD)

bench: ## build and run the measurements of this machine and the kernels
	@scripts/setup.sh engine bench
	@cmake --preset release -DFT_BENCH=ON >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS)
	$(BUILD)/foretoken bench limits
	$(BUILD)/foretoken bench decode --random 1.1b --type Q8_0 --rows 1,2,4,8,16,32

docs: ## write the tables of documents that are made from the sources
	@scripts/setup.sh engine train test
	@cmake --preset release -DFT_TESTS=ON -DFT_EXTRA_DRAFTERS= >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target draft_test tree_test verifiers_test
	for test in draft tree verifiers; do FT_WRITE_DOCS=1 $(BUILD)/$${test}_test --gtest_filter='*Page.*' || exit 1; done

format: ## rewrite the sources in the project's format
	@scripts/setup.sh lint
	scripts/format.sh

lint: ## check format, layers, citations and clang-tidy
	@scripts/setup.sh engine train test lint
	scripts/lint.sh

asan-quick: ## the part of `make asan` that reads what others wrote: parsers, their fuzzers, the server's connections
	@scripts/setup.sh engine test lint
	@cmake --preset asan-quick >/dev/null
	@$(CMAKE_BUILD) build/asan-quick -j $(JOBS) --target parser_fuzzers $(SANITIZED)
	ctest --preset asan-quick -j $(JOBS) -L parser
	ctest --preset asan-quick -j $(JOBS) -R '^($(subst $(space),|,$(SANITIZED)))$$'

asan: ## build with address and undefined-behaviour sanitizers and run the tests and fuzzers
	@scripts/setup.sh engine test lint
	@cmake --preset asan >/dev/null
	@$(CMAKE_BUILD) build/asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

tsan: ## build with the thread sanitizer and run the threaded tests
	@scripts/setup.sh engine test
	@cmake --preset tsan >/dev/null
	@$(CMAKE_BUILD) build/tsan -j $(JOBS)
	ctest --preset tsan -L 'unit|lossless'

tsan-quick: ## the part of `make tsan` that serves many connections with many threads
	@scripts/setup.sh engine test lint
	@cmake --preset tsan-quick >/dev/null
	@$(CMAKE_BUILD) build/tsan-quick -j $(JOBS) --target http_server_test
	ctest --preset tsan-quick -R '^http_server_test$$'

serve-check: ## check `foretoken serve` from outside: the openai client, curl, schemathesis, faults; minutes
	@scripts/setup.sh engine serve-check
	@cmake --preset release -DFT_TRAIN=OFF -DFT_TESTS=OFF >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target foretoken
	@scripts/fetch_model.sh || true
	tests/serve/check.sh

check-long: toy ## what takes hours: a toy drafter, 10,000 altered files and schedules, ten minutes a fuzzer, sanitised tests in full, tsan
	@scripts/setup.sh engine test lint
	@cmake --preset release -DFT_TESTS=ON >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target sampling_law_test schedule_law_test
	FT_LAW_SAMPLES=1000000 $(BUILD)/sampling_law_test
	FT_SCHEDULES=10000 FT_REAL_SCHEDULES=200 $(BUILD)/schedule_law_test
	@cmake --preset asan -DFT_LONG=ON >/dev/null
	@$(CMAKE_BUILD) build/asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)
	@cmake --preset asan >/dev/null
	@scripts/setup.sh serve-check
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target foretoken
	tests/serve/check.sh long
	python3 tests/serve/faults.py --binary build/asan/foretoken --scale 1/5
	$(MAKE) tsan
	python3 tests/serve/faults.py --binary build/tsan/foretoken --scale 1/20

page-check: ## try the server's web page in Debian's Chromium on SmolLM2; IMAGES=docs/images keeps its pictures there
	@scripts/setup.sh engine browser
	@cmake --preset release -DFT_TRAIN=OFF -DFT_TESTS=OFF >/dev/null
	@$(CMAKE_BUILD) $(BUILD) -j $(JOBS) --target foretoken
	@scripts/fetch_model.sh
	/usr/bin/python3 tests/serve/page.py $(if $(IMAGES),--images $(IMAGES))

clean: ## remove everything that was built
	rm -rf build
