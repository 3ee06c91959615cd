#!/bin/sh
# Checks `foretoken serve` as a black box: conformance, schemathesis, faults. `make serve-check` builds it first.
# usage: check.sh [short|long]; short: minutes, as in CI; long: the full number of repetitions of every fault
# FT_SKIP_SERVE_CHECKS=1 leaves out the checks that need packages from PyPI.
set -u
cd "$(dirname "$0")/../.."
python=build/serve-venv/bin/python
status=0

run() {
  printf '\n-- %s\n' "$*"
  "$@" || status=1
}
if [ "${1:-short}" = long ]; then
  scale=1 schema=--long
else
  scale=1/50 schema=--examples=20
fi
if [ "${FT_SKIP_SERVE_CHECKS:-}" = 1 ]; then
  echo "SKIP: conformance and schemathesis, as FT_SKIP_SERVE_CHECKS says"
else
  tests/serve/install.sh || exit 1
  run $python tests/serve/conformance.py
  run $python tests/serve/schema.py $schema
fi
run python3 tests/serve/faults.py --scale $scale
exit $status
