#!/bin/sh
# Checks the format of every C++ file, the include layers, what may be done in one place only, that
# citations of docs/methods resolve, that objects built for one instruction set (those in build/release,
# if any) share no function, and clang-tidy. Any finding is an error.
# Test files are formatted but not tidied: their macros alone would triple the time. Nor are the files
# that include libtorch, whose headers clang-tidy 14 cannot parse as C++20.
# usage: scripts/lint.sh [--quick]; --quick leaves clang-tidy out.
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
