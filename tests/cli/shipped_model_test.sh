#!/bin/sh
# The shipped model writes the same text with every drafter, greedily and with a seed.
# usage: shipped_model_test.sh FORETOKEN MODEL; status 77 (skipped) when MODEL is not there
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
exit "$status"
