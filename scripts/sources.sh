#!/bin/sh
# Prints our C++ files, one a line. With an argument, only those with that ending.
set -eu
cd "$(dirname "$0")/.."
git ls-files --cached --others --exclude-standard 'src/*' 'apps/*' 'train/*' 'tests/*' 'bench/*' |
  grep -E "${1:-\.(cc|h|def)}\$" | grep -v '\.def$'
