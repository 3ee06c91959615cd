#!/bin/sh
# Formats every C++ file of the project.
set -eu
cd "$(dirname "$0")/.."
scripts/sources.sh | xargs clang-format -i
