#!/bin/sh
# Rewrites every C++ file in the project's format.
set -eu
cd "$(dirname "$0")/.."
scripts/sources.sh | xargs clang-format -i
