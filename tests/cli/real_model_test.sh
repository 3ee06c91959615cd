#!/bin/sh
# A real model: SmolLM2-135M-Instruct writes the same text with every drafter, is measured by bench spec, and distils a
# data set with the same result whether or not the run was killed and resumed.
# usage: real_model_test.sh FORETOKEN FOLDER MODEL HASS_DRAFT; status 77 (skipped) if MODEL does not exist
set -u
bin=$1 dir=$2 model=$3 hass=$4
if [ ! -f "$model" ]; then
  echo "skipped: $model is not there; scripts/fetch_model.sh fetches it"
  exit 77
fi
failures=0
rm -rf "$dir"
mkdir -p "$dir"
XDG_CACHE_HOME="$dir/cache"
export XDG_CACHE_HOME

fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}
expect() {
  what=$1
  shift
  "$@" >"$dir/out" 2>"$dir/err" </dev/null || fail "$what: status $?: $(tail -n 3 "$dir/err")"
}
prompt='Correct this text, and answer with the text only: The market open every Saturday. The farmers brings bread to the
market, and the market close at noon.'
# One thread, because several would wait for each other while other processes use the cores.
generate() { "$bin" generate -m "$model" -t 1 --chat -p "$prompt" -n 40 -q "$@"; }

# The usual layout: the draft in drafts/ beside the model.
mkdir -p "$dir/models/drafts"
ln -s "$(realpath "$model")" "$dir/models/model.gguf"
model="$dir/models/model.gguf"
if [ -f "$hass" ]; then
  ln -s "$(realpath "$hass")" "$dir/models/drafts/hass.gguf"
else
  echo "without HASS: $hass is not there"
fi

# Every drafter writes the same text, greedy and seeded. --check also decodes without drafts and compares every token.
for sampling in "--temp 0" "--temp 0.8 --top-p 0.9 --seed 11"; do
  # shellcheck disable=SC2086 # the options are words
  expect "plain, $sampling" generate $sampling --drafter none
  mv "$dir/out" "$dir/plain"
  [ -s "$dir/plain" ] || fail "plain, $sampling: no text"
  for drafter in "" pld pld+h hass; do
    [ "$drafter" != hass ] || [ -f "$hass" ] || continue
    # shellcheck disable=SC2086
    expect "${drafter:-default}, $sampling" generate $sampling ${drafter:+--drafter $drafter} --check
    cmp -s "$dir/out" "$dir/plain" || fail "${drafter:-default}, $sampling: another text than plain decoding"
    [ ! -s "$dir/err" ] || fail "${drafter:-default}, $sampling: says $(cat "$dir/err")"
  done
done
if [ -f "$hass" ]; then
  expect "default with the draft beside it" generate --tree chain:gamma=3 --stats "$dir/default.json"
  python3 - "$dir/default.json" <<'PYTHON' || fail "the default drafter leaves the draft beside the model alone"
import json, sys
stats = json.load(open(sys.argv[1]))
drafted = [n > 1 for n in stats["nodes"][:-1]]  # the last token needs no draft
assert all(drafted) and len(drafted) > 5, stats["nodes"]
PYTHON
fi

cat >"$dir/questions.jsonl" <<'JSON'
{"question_id": 1, "category": "writing", "turns": ["Repeat this: one two three four five six seven."]}
{"question_id": 2, "category": "math", "turns": ["What is 2 + 2?"]}
JSON
expect "bench spec" "$bin" bench spec -m "$model" -t 1 --questions "$dir/questions.jsonl" --methods pld,pld+h -n 16 --warm-up 0 -q \
  --json "$dir/spec.json"
python3 - "$dir/spec.json" "$dir/questions.jsonl" <<'PYTHON' || fail "bench spec: $(head -c 600 "$dir/spec.json")"
import json, sys
spec = json.load(open(sys.argv[1]))
whole = [r for r in spec["results"] if r["task"] == "overall"]
assert [r["method"] for r in whole] == ["none", "pld", "pld+h"], [r["method"] for r in whole]
assert spec["questions"] == sys.argv[2] and spec["answered"] == 2 and spec["new_tokens"] == 16, spec
assert spec["too_long"] == 0 and not spec["interrupted"] and spec["threads"] == 1, spec
fields = ("speedup", "speedup_low", "speedup_high", "tokens_per_second", "tau_micro", "seconds", "prefill_seconds")
for row in spec["results"]:
    assert row["identical"] and all(row[f] > 0 for f in fields) and row["tokens"] >= row["questions"], row
    assert row["speedup_low"] <= row["speedup"] <= row["speedup_high"] and row["tau_micro"] >= 1, row
PYTHON

printf '%s\n' '{"messages": [{"role": "user", "content": "Name three colours."}]}' \
  '{"messages": [{"role": "user", "content": "What is a fox? Answer in a sentence."}]}' >"$dir/asked.jsonl"
distill() { "$bin" distill -m "$model" -t 1 --data "$dir/asked.jsonl" -n 48 --temp 0.7 --seed 3 --batch 1 -q "$@"; }
expect "distill" distill --out "$dir/whole.jsonl"
[ "$(wc -l <"$dir/whole.jsonl")" -eq 2 ] || fail "distill: not 2 lines"
"$bin" distill -m "$model" -t 1 --data "$dir/asked.jsonl" -n 48 --temp 0.7 --seed 3 --batch 1 -q --out "$dir/killed.jsonl" &
pid=$!
while kill -0 $pid 2>/dev/null && [ "$(wc -l 2>/dev/null <"$dir/killed.jsonl")" != 1 ]; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
expect "distill, killed and resumed" distill --out "$dir/killed.jsonl"
cmp -s "$dir/whole.jsonl" "$dir/killed.jsonl" || fail "distill: a killed and resumed run has another text"

[ "$failures" -eq 0 ] && echo "all passed"
exit "$failures"
