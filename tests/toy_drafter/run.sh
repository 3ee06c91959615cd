#!/usr/bin/env bash
# A new drafter edits its folder and one line of a registry: adds the toy of this folder to a build
# that is there, as such a folder and line, runs the suites that go over the registry on it, and
# takes it out again. Changes no file of the sources.
# usage: tests/toy_drafter/run.sh [BUILD]; BUILD: a build folder with tests (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
targets=(foretoken draft_test identity_test session_state_test)

with_drafters() {
  cmake -DFT_EXTRA_DRAFTERS="$1" "$build" >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]}"
}
trap 'with_drafters "" >/dev/null' EXIT
with_drafters "$PWD/tests/toy_drafter"

"$build"/draft_test --gtest_brief=1 --gtest_filter='FollowersTest.*:Registry.*'
"$build"/identity_test --gtest_brief=1 --gtest_filter='*toy*'
"$build"/session_state_test --gtest_brief=1 --gtest_filter='*toy*'
help=$("$build"/foretoken generate --help)
for text in "toy: what a table says follows each token" "toy: table, ids" "k, tokens drafted (1 to 64; default: 4)"; do
  grep -qF "$text" <<<"$help" || { echo "--help does not say: $text"; exit 1; }
done
status=0
message=$("$build"/foretoken generate -m none.gguf -p a --drafter toyy 2>&1) || status=$?
[ $status = 2 ] && grep -q "toy" <<<"$message" || { echo "the toy is not among the known drafters: $message"; exit 1; }
echo "toy drafter: one folder and one line"
