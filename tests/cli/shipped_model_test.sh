#!/bin/sh
# The shipped model writes the same text with every drafter, greedily and with a seed.
# usage: shipped_model_test.sh FORETOKEN MODEL; status 77 (skipped) if MODEL does not exist
set -u
bin=$1 model=$2
prompt='Please correct this text, and answer with the text only: The market open every Saturday. The
farmers brings bread to the market, and the market close at noon.'
[ -f "$model" ] || exit 77
status=0
for drafter in auto pld pld+h pld+a; do
  for sampling in "--temp 0" "--temp 0.8 --top-p 0.9 --seed 11"; do
    # shellcheck disable=SC2086 # the options are words
    "$bin" generate -m "$model" --chat -p "$prompt" -n 48 --drafter "$drafter" $sampling --check \
      >/dev/null || status=1
  done
done

# annotate-draft writes measured acceptance and a name into a copy of a draft, which still works as a draft.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$(dirname "$0")/expect.sh"
draft=$(dirname "$model")/drafts/foretoken-demo-24m-hass-q8_0.gguf
[ -f "$draft" ] || exit "$status"
copy=$dir/hass.gguf
for day in Monday Friday Saturday Sunday; do
  printf '{"question_id": "%s", "category": "a", "turns": ["%s"]}\n' "$day" \
    "Please correct this text, and answer with the text only: The market open every $day. The farmers brings bread."
done >"$dir/questions.jsonl"
expect_status 0 "bench spec of a chain" "$bin" bench spec -m "$model" --questions "$dir/questions.jsonl" \
  --methods hass --draft "$draft" --tree chain:gamma=3 -n 48 --warm-up 0 -q --json "$dir/measured.json"
expect_status 0 "annotate-draft" "$bin" annotate-draft "$draft" -o "$copy" --name renamed --measured "$dir/measured.json"
expect_status 0 "inspect the copy" "$bin" inspect "$copy"
expect_text "renamed" out "the name of the copy"
rates=$(json "$dir/measured.json" "(lambda r: ' '.join('%.2f' % a for a, n in zip(r['alpha_n'], r['alpha_n_reached']) if n >= 20))([r for r in s['results'] if r['method'] == 'hass'][0])")
expect_text "acceptance *$rates\$" out "the acceptance of the copy"
expect_status 0 "a draft that was annotated" "$bin" generate -m "$model" -p "$prompt" -n 16 --drafter hass --draft "$copy" --check
expect_status 1 "annotate-draft over a file" "$bin" annotate-draft "$draft" -o "$copy" --name other
expect_text "exists already" err "annotate-draft over a file"
expect_status 2 "annotate-draft of nothing" "$bin" annotate-draft "$draft" -o "$dir/none.gguf"
expect_text "nothing to store" err "annotate-draft of nothing"
expect_status 2 "annotate-draft with an empty name" "$bin" annotate-draft "$draft" -o "$dir/none.gguf" --name ""
expect_text "empty, expected a name" err "annotate-draft with an empty name"
printf '{"results": [{"task": "overall", "method": "hass", "tree": "chain:gamma=3", "verifier": "exact", "temperature": 0.0, "alpha_n": [0.5, 0], "alpha_n_reached": [19, 0]}]}' >"$dir/few.json"
expect_status 1 "annotate-draft of few guesses" "$bin" annotate-draft "$draft" -o "$dir/none.gguf" --measured "$dir/few.json"
expect_text "few.json: field 'alpha_n_reached' is .*expected 20 judged guesses" err "annotate-draft of few guesses"
printf '{"results": []}' >"$dir/empty.json"
expect_status 1 "annotate-draft of no result" "$bin" annotate-draft "$draft" -o "$dir/none.gguf" --measured "$dir/empty.json"
expect_text "empty.json: field 'results' has 0 entries" err "annotate-draft of no result"
[ "$failures" -eq 0 ] || status=1
exit "$status"
