#!/bin/sh
# Prints the project's C++ files, one per line.
set -eu
cd "$(dirname "$0")/.."
git ls-files --cached --others --exclude-standard 'src/*' 'apps/*' 'eval/*' 'train/*' 'tests/*' 'bench/*' |
  grep -E '\.(cc|h)$'
