#!/usr/bin/env bash
# Checks that a new drafter needs only a folder and one registry line: adds the toy of this folder to
# an existing build, runs the suites that iterate over the registry on it, and removes it again.
# Changes no source file.
# usage: tests/toy_drafter/run.sh [BUILD]; BUILD: a build folder with tests (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
toy=$PWD/tests/toy_drafter
targets=(foretoken draft_test identity_test session_state_test)
# Extra drafters that the build already has stay in it.
before=$(sed -n 's/^FT_EXTRA_DRAFTERS:PATH=//p' "$build/CMakeCache.txt")
[ "$before" != "$toy" ] || before=""

with_drafters() {
  cmake -DFT_EXTRA_DRAFTERS="$1" "$build" >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]}"
}
fail() {
  echo "$1" >&2
  exit 1
}
# try PROGRAM FILTER: runs the tests that match the filter; there must be some.
try() {
  local listed
  listed=$("$build/$1" --gtest_list_tests --gtest_filter="$2")
  grep -q '^  ' <<<"$listed" || fail "$1 has no tests of the toy"
  "$build/$1" --gtest_brief=1 --gtest_filter="$2"
}
restore() {
  local log
  log=$(with_drafters "$before" 2>&1) || fail "the build could not be restored: $log"
}
trap restore EXIT
with_drafters "${before:+$before;}$toy"

try draft_test 'FollowersTest.*'
try draft_test '-FollowersTest.*'
try identity_test '*toy*'
try session_state_test '*toy*'
help=$("$build"/foretoken generate --help | tr -s ' \n' ' ')  # as wide as a line may be
for text in "toy: what a table says follows each token" "toy: table, ids" "k, tokens drafted (1 to 64; default: 4)"; do
  grep -qF "$text" <<<"$help" || fail "--help does not say: $text"
done
status=0
message=$("$build"/foretoken generate -m none.gguf -p a --drafter toyy 2>&1) || status=$?
{ [ $status = 2 ] && grep -qw toy <<<"$message"; } || fail "the toy is not among the known drafters: $message"
echo "toy drafter: one folder and one line"
