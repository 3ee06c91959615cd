#!/bin/sh
# Runs all static checks: format of C++ files, include layers (tools/layers.py), operations allowed in one
# place only (tools/one_place.py), citations of docs/methods, functions shared by objects built for different
# instruction sets (objects in build/release, if any), and clang-tidy. Any finding is an error.
# clang-tidy skips test files, whose macros would triple its time, and files that include libtorch, whose
# headers clang-tidy 14 cannot parse as C++20.
# usage: scripts/lint.sh [--quick]; --quick skips clang-tidy.
set -eu
cd "$(dirname "$0")/.."
scripts/sources.sh | xargs clang-format --dry-run -Werror
python3 tools/layers.py
python3 tools/one_place.py
python3 tools/citations_test.py -q
python3 tools/citations.py
python3 tools/isa_symbols.py --build build/release
if [ "${1:-}" = --quick ]; then
  echo "lint: format, layers, places, citations and symbols are clean"
  exit 0
fi
cmake --preset release -B build/lint -DFT_QUICK=OFF -DFT_TRAIN=ON -DFT_TESTS=OFF -DFT_BENCH=OFF >/dev/null
awk -F'"' '/"command":/ { torch = /\/torch\// } /"file":/ && !torch { print $4 }' \
  build/lint/compile_commands.json | sort -u |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option
echo "lint: clean"
