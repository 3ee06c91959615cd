#!/bin/sh
# Prints our C++ files, one a line.
set -eu
cd "$(dirname "$0")/.."
git ls-files --cached --others --exclude-standard 'src/*' 'apps/*' 'eval/*' 'train/*' 'tests/*' 'bench/*' |
  grep -E '\.(cc|h)$'
