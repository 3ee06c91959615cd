#!/bin/sh
# Tests of the train command as users' scripts see it: exit statuses, messages and files.
# usage: train_test.sh FORETOKEN MODEL FOLDER
set -u
bin=$1 model=$2 dir=$3
rm -rf "$dir"
mkdir -p "$dir"
XDG_CACHE_HOME="$dir/cache"
export XDG_CACHE_HOME

. "$(dirname "$0")/expect.sh"

# Training's curves need no trainer.
mkdir -p "$dir/run" "$dir/empty_run"
printf '%s\n' '{"step":1,"loss":3,"lr":0.1}' '{"step":2,"loss":2,"lr":0.2,"heldout_loss":2.5,"alpha_1":0.5}' >"$dir/run/log.jsonl"
expect_status 0 "train plot" "$bin" train plot "$dir/run"
expect_text "$dir/run/curves.svg" err "train plot says where the picture is"
expect_text "draft step 1" run/curves.svg "train plot"
expect_status 0 "train plot, again" "$bin" train plot "$dir/run"
echo kept >"$dir/picture.svg"
expect_status 1 "train plot over a file" "$bin" train plot "$dir/run" --out "$dir/picture.svg"
expect_text "picture.svg: exists already; --force replaces it" err "train plot over a file"
[ "$(cat "$dir/picture.svg")" = kept ] || fail "train plot replaced a file"
expect_status 0 "train plot --force" "$bin" train plot "$dir/run" --out "$dir/picture.svg" --force
expect_status 0 "train plot to standard output" "$bin" train plot "$dir/run" "$dir/run" --out -
[ "$(grep -c ">$dir/run<" "$dir/out")" = 2 ] || fail "train plot names the runs: $(head -c 300 "$dir/out")"
expect_status 0 "train plot --help" "$bin" train plot --help
expect_text "train plot runs/hass" out "train plot --help"
expect_status 2 "train plot of nothing" "$bin" train plot
expect_status 1 "train plot without a log" "$bin" train plot "$dir/run" "$dir/empty_run"
expect_text "empty_run/log.jsonl: cannot open" err "train plot without a log"
printf '%s\n' '{"step":3,"loss":"low"}' >>"$dir/run/log.jsonl"
expect_status 1 "train plot of a broken log" "$bin" train plot "$dir/run"
expect_text 'run/log.jsonl:3: loss: found "low", expected a number' err "train plot of a broken log"

mkdir -p "$dir/alone"
cp "$bin" "$dir/alone/foretoken"
expect_status 1 "train without the trainer" "$dir/alone/foretoken" train hass
expect_text "make train. builds the trainer" err "train without the trainer"
rm -rf "$dir/alone"

# The rest needs the trainer.
[ -e "$(dirname "$bin")/libforetoken_train.so" ] || finish

mkdir -p "$dir/lm"
i=0
while [ $i -lt 60 ]; do
  printf 'document %s says hello\n<|endoftext|>\n' $i
  i=$((i + 1))
done >"$dir/lm/text.txt"
small="--device cpu --threads 1 --vocab 300 --layers 1 --hidden 32 --ffn 32 --heads 2 --kv-heads 1 --head-dim 16 \
  --length 32 --batch 2 --warmup 0 --eval-every 0 --heldout 0.1"
# shellcheck disable=SC2086
train() { "$bin" train lm --data "$dir/lm/text.txt" --out "$dir/lm/run" --quiet $small "$@"; }
for wrong in "--beta1 2" "--heldout -1" "--threads -5" "--device xyz" "--batch 9223372036854775807" \
  "--lr nan" "--lr 1e20" "--clip -1"; do
  # shellcheck disable=SC2086
  expect_status 2 "train $wrong" train --steps 2 $wrong
  expect_text "${wrong% *} is '${wrong#* }', expected " err "train $wrong"
done
expect_status 2 "train --wieght" train --steps 2 --wieght 3
expect_text "unknown option '--wieght'" err "train --wieght"
printf '{"data": [{"files": "text.txt", "wieght": 2}]}' >"$dir/lm/recipe.json"
expect_status 2 "train, a recipe's field" train --steps 2 --recipe "$dir/lm/recipe.json"
expect_text "recipe.json: data.0.: unknown field 'wieght'" err "train, a recipe's field"
printf '{"settings": {"shade": 2}}' >"$dir/lm/recipe.json"
expect_status 2 "train, a recipe's setting" train --steps 2 --recipe "$dir/lm/recipe.json"
expect_text "recipe.json: settings.shade: unknown setting of train lm" err "train, a recipe's setting"
printf '{"accumulate": 3, "workers": 2}' >"$dir/lm/recipe.json"
expect_status 2 "train, fields that do not fit together" train --recipe "$dir/lm/recipe.json"
expect_text "recipe.json, with the command's flags: accumulate is 3, expected a multiple of workers, 2" err "train, fields that do not fit together"
printf '{"method": "hass"}' >"$dir/lm/recipe.json"
expect_status 2 "train, another method's recipe" train --steps 2 --recipe "$dir/lm/recipe.json"
expect_text "recipe.json: is a recipe of train hass, expected train lm" err "train, another method's recipe"
[ ! -e "$dir/lm/run" ] || fail "train: bad usage makes a folder"
expect_status 0 "train" train --steps 2
cp "$dir/lm/run/checkpoint.safetensors" "$dir/kept"
export_to() { "$bin" train export --checkpoint "$dir/lm/run" --type f32 --out "$@"; }
for path in model.gguf hf; do
  expect_status 0 "train export to $path" export_to "$dir/lm/$path"
  expect_status 1 "train export over $path" export_to "$dir/lm/$path"
  expect_text "$path.*: exists already; --force replaces it" err "train export over $path"
  expect_status 0 "train export --force over $path" export_to "$dir/lm/$path" --force
done
expect_status 1 "train at another rate" train --steps 2 --lr 0.01
expect_text "lr was 0.0015, now 0.01. --change lr continues" err "train at another rate"
expect_status 2 "train, no such change" train --steps 2 --change rate
sed 's/hello$/hallo/' "$dir/lm/text.txt" >"$dir/changed"
cp "$dir/changed" "$dir/lm/text.txt"
expect_status 1 "train on other data" train --steps 2
expect_text "text.txt has different contents" err "train on other data"
cmp -s "$dir/lm/run/checkpoint.safetensors" "$dir/kept" || fail "train: a refused run changed the checkpoint"
expect_status 0 "train on, as told" train --steps 3 --change steps,data
cp "$dir/lm/run/checkpoint.safetensors" "$dir/kept"
expect_status 1 "train to fewer steps" train --steps 2 --change steps
expect_text "has taken 3 steps in .*, and --steps 2 allows no more, so nothing was changed" err "train to fewer steps"
cmp -s "$dir/lm/run/checkpoint.safetensors" "$dir/kept" || fail "train to fewer steps changed the checkpoint"
expect_status 1 "train of another shape" train --steps 3 --layers 2
expect_text "A run cannot change layers" err "train of another shape"
expect_status 0 "train anew" train --steps 1 --layers 2 --force
# Ctrl-C keeps what was trained, and its exit status stops what was to follow.
# shellcheck disable=SC2086
"$bin" train lm --data "$dir/lm/text.txt" --out "$dir/lm/stopped" $small --steps 1000000 >"$dir/out" 2>"$dir/err" &
run=$!
i=0
while [ ! -s "$dir/lm/stopped/log.jsonl" ] && [ $i -lt 300 ]; do
  sleep 0.1
  i=$((i + 1))
done
kill -INT "$run"
wait "$run"
got=$?
[ $got -eq 130 ] || fail "train, interrupted: status $got, expected 130: $(cat "$dir/err")"
expect_text "stopped after step [0-9]*; the checkpoint is saved" err "train, interrupted"
[ -s "$dir/lm/stopped/checkpoint.safetensors" ] || fail "train, interrupted: no checkpoint"
dd if=/dev/zero of="$dir/lm/run/checkpoint.safetensors" bs=1 seek=9000 count=8 conv=notrunc 2>/dev/null
expect_status 1 "export of a damaged checkpoint" "$bin" train export --checkpoint "$dir/lm/run" \
  --out "$dir/lm/model.gguf"
expect_text "checkpoint.safetensors: is damaged" err "export of a damaged checkpoint"
rm -f "$dir/lm/run/log.jsonl"
mkfifo "$dir/lm/run/log.jsonl"
expect_status 1 "train with a pipe for its log" timeout 20 "$bin" train lm --data "$dir/lm/text.txt" --out "$dir/lm/run" --steps 1 --force
expect_text "log.jsonl: is not a regular file" err "train with a pipe for its log"
expect_status 1 "train into its data" "$bin" train lm --data "$dir/lm" --out "$dir/lm" --steps 1
expect_text "is the folder of training data" err "train into its data"
# shellcheck disable=SC3045
( ulimit -v 6000000; "$bin" train lm --data "$dir/lm/text.txt" --out "$dir/lm/large" --steps 1 --device cpu --threads 1 \
  --quiet --layers 1 --hidden 2048 --ffn 4194304 >"$dir/out" 2>"$dir/err" )
[ $? -eq 1 ] || fail "train without memory: status"
expect_text "out of memory: a smaller --batch" err "train without memory"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "train without memory: one sentence: $(cat "$dir/err")"

# train makes a draft in one command, and there is one tau: the run prints and the draft file
# holds what bench spec measures.
i=0
while [ $i -lt 100 ]; do
  printf '{"messages": [{"role": "user", "content": "Say %s"}, {"role": "assistant", "content": "I say %s"}]}\n' $i $i
  i=$((i + 1))
done >"$dir/lm/my.jsonl"
draft() {
  "$bin" train hass --target "$model" --data "$dir/lm/my.jsonl" --out "$dir/lm/hass" --device cpu --threads 1 "$@"
}
expect_status 0 "train hass without a recipe" draft --budget 3s --length 64 --batch 2 --eval-sequences 2
expect_text "^estimate: [0-9]* steps learn [0-9.kM ]* tokens, .* in 3s in all on this machine; learning rate [0-9.e-]*, 128 tokens a step" err "train hass tells what to expect"
expect_text "^the budget is 3s; for minutes, write --budget 3m" err "train hass with a short budget"
expect_text "^expect: teacher-forced tau .*, as a recorded hass draft of .* had" err "train hass tells what to expect"
expect_text "^tau: .*; in parentheses: the share of right guesses at depth" err "train hass explains its progress line"
expect_text "features.bin: [0-9.]* MiB of the target's results" err "train hass names its cache"
expect_text "^learned [0-9.kM ]* tokens in [0-9]* steps" err "train hass tells how much it learned"
expect_text "^  by default:  mkdir -p .*/drafts && cp $dir/lm/hass/draft.gguf .*/drafts/tiny-random-model-hass.gguf\$" err \
  "train hass tells how to use its draft by default"
tau=$(sed -n 's/^tau \([0-9.]*\): .*/\1/p' "$dir/err")
measure=$(sed -n 's/^  tau again: *[^ ]*foretoken //p' "$dir/err")
fast=$(sed -n 's/^  how fast: *[^ ]*foretoken //p' "$dir/err")
# shellcheck disable=SC2086
expect_status 0 "the command that train hass names" "$bin" $measure --json "$dir/lm/measured.json" --quiet
expect_text "^| hass / chain.* | $tau |" out "bench spec measures the tau of the run"
# shellcheck disable=SC2086
expect_status 0 "the command that tells how fast a draft is" "$bin" $fast --quiet --limit 2
expect_text "^| auto / .* yes |" out "the draft joins auto"
expect_text "^| pld+h / .* yes |" out "the draft is compared with copying"
expect_status 0 "inspect of the run's draft" "$bin" inspect "$dir/lm/hass/draft.gguf" --json
expect_text "tiny-random-model-hass" out "a draft is called by its target and its method"
cp "$dir/out" "$dir/lm/draft.json"
overall="[r for r in s['results'] if r['task'] == 'overall' and r['method'] == 'hass'][0]"
[ "$(json "$dir/lm/draft.json" "'%.4f %.4f' % (s['draft']['trained']['tau'], s['draft']['acceptance'][0])")" = \
  "$(json "$dir/lm/measured.json" "(lambda r: '%.4f %.4f' % (r['tau_micro'], r['alpha_n'][0]))($overall)")" ] \
  || fail "the draft file holds what bench spec measures: $(cat "$dir/lm/draft.json")"
expect_status 0 "generate with the run's draft" "$bin" generate -m "$model" -t 1 -p hello -n 8 --drafter hass --draft "$dir/lm/hass/draft.gguf"
rm "$dir/lm/hass/heldout.jsonl"  # as of a run of an older version
printf kept >"$dir/lm/hass/draft.gguf"
expect_status 0 "train hass, when it is done" draft --budget 3s --length 64 --batch 2 --eval-sequences 2
expect_text "^tau $tau: " err "a run that is done keeps its tau"
expect_text "^finished before, after [0-9]* steps; --change budget with a larger --budget" err "a run that is done says so"
[ -s "$dir/lm/hass/heldout.jsonl" ] || fail "a run without held-out questions writes them"
[ "$(cat "$dir/lm/hass/draft.gguf")" = kept ] || fail "a run that is done replaced a draft"
expect_status 1 "train hass with another budget" draft --budget 5s --length 64 --batch 2 --eval-sequences 2
expect_text "budget was 3s, now 5s" err "train hass with another budget"
expect_status 1 "train hass at another rate" draft --budget 3s --length 64 --batch 2 --eval-sequences 2 --lr 0.0003
expect_text "lr was .*, now 0.0003.* --change lr continues" err "train hass at another rate"
cp "$dir/lm/hass/checkpoint.safetensors" "$dir/kept"
expect_status 1 "train hass at another rate, when it is done" draft --budget 3s --length 64 --batch 2 --eval-sequences 2 \
  --lr 0.0003 --change lr
expect_text "and --budget 3s allows no more, so nothing was changed; --change lr,budget with a larger --budget" err \
  "train hass at another rate, when it is done"
expect_status 1 "train hass without its bias" draft --budget 3s --length 64 --batch 2 --eval-sequences 2 --fc-bias 0
expect_text "fc_bias was 1, now 0. A run cannot change fc_bias" err "train hass without its bias"
expect_status 2 "train hass without its bias, as told" draft --budget 10s --fc-bias 0 --change fc-bias
expect_text "'fc_bias', which a run cannot change" err "train hass without its bias, as told"
cmp -s "$dir/lm/hass/checkpoint.safetensors" "$dir/kept" || fail "train hass: a refused command changed the checkpoint"
expect_status 0 "train hass for longer" draft --budget 10s --length 64 --batch 2 --eval-sequences 2 --change budget
expect_text "^continuing after step" err "train hass for longer"
expect_text "^estimate: .* in 10s in all" err "train hass for longer"
expect_text "^learned [0-9.kM ]* tokens in [0-9]* steps" err "train hass for longer"
expect_text "^tau [0-9.]*: " err "train hass for longer measures its draft"
[ "$(head -c 4 "$dir/lm/hass/draft.gguf")" = GGUF ] || fail "train hass for longer did not replace its draft"
expect_status 1 "train hass for as long as at first" draft --budget 3s --length 64 --batch 2 --eval-sequences 2
expect_text "budget was 10s, now 3s" err "train hass for as long as at first"
expect_status 0 "train on files in place of a recipe's data" "$bin" train hass --target "$model" --recipe "$(dirname "$0")/../../recipes/hass.json" \
  --data "$dir/lm/my.jsonl" --out "$dir/lm/recipe" --device cpu --threads 1 --quiet --steps 2 --length 64 --eval-every 0
[ ! -s "$dir/err" ] || fail "train --quiet: $(cat "$dir/err")"
mkdir -p "$dir/lm/others" && printf text >"$dir/lm/others/notes"
expect_status 1 "train into a folder of other files" "$bin" train hass --target "$model" --data "$dir/lm/my.jsonl" --out "$dir/lm/others"
expect_text "others: has files, none of which is a run's" err "train into a folder of other files"
mkdir -p "$dir/lm/killed" && printf half >"$dir/lm/killed/corpus.bin.tmp1"
expect_status 0 "train where a run was killed" "$bin" train hass --target "$model" --data "$dir/lm/my.jsonl" \
  --out "$dir/lm/killed" --device cpu --threads 1 --quiet --steps 1 --length 64 --eval-every 0 --heldout 0
expect_status 1 "train on a model file" "$bin" train hass --target "$model" --data "$model" --out "$dir/lm/binary"
expect_text "is not text: byte [0-9]* is 0" err "train on a model file"
[ ! -e "$dir/lm/binary" ] || fail "a run that fails before its first step leaves its folder"
printf '{"prompt": "Say %s"}\n' one two three four five >"$dir/lm/asked.jsonl"
expect_status 1 "train on questions alone" "$bin" train hass --target "$model" --data "$dir/lm/asked.jsonl" \
  --out "$dir/lm/asked" --device cpu --threads 1 --heldout 0
expect_text "asked.jsonl: no document has a token to learn: .* foretoken distill" err "train on questions alone"
expect_status 1 "train on a file that is missing" "$bin" train hass --target "$model" --data "$dir/none.jsonl" --out "$dir/lm/binary"
expect_text "none.jsonl: does not exist" err "train on a file that is missing"
expect_status 2 "train without data" "$bin" train hass --target "$model" --out "$dir/lm/binary"
expect_text "--data is missing" err "train without data"
expect_status 2 "train without a target" "$bin" train hass --data "$dir/lm/my.jsonl" --out "$dir/lm/binary"
expect_text "--target is missing" err "train without a target"
[ ! -e "$dir/lm/binary" ] || fail "train without data or a target leaves a folder"
expect_status 2 "train -m" "$bin" train hass -m "$model" --data "$dir/lm/my.jsonl" --out "$dir/lm/binary"
expect_text "named by --target" err "train -m"
expect_status 0 "train hass --help" "$bin" train hass --help
expect_text "fields of hass" out "train hass --help"
expect_text "^Exit status: .*, 130 training was interrupted" out "train hass --help"
! grep -q "fields of medusa" "$dir/out" || fail "train hass --help shows another method's fields"
expect_status 2 "train with two budgets" draft --budget 5s --time-budget 5s
expect_text "budget and time_budget are both set" err "train with two budgets"
for length in "--steps 9" "--epochs 2" "--warmup 3" "--decay-steps 9"; do
  # shellcheck disable=SC2086
  expect_status 2 "train with a budget and $length" draft --budget 5s $length
  expect_text "${length% *} and --budget are both set" err "train with a budget and $length"
done
printf '{"steps": 9, "warmup": 3}' >"$dir/lm/recipe.json"
expect_status 2 "train with a budget and a recipe's steps" draft --recipe "$dir/lm/recipe.json" --budget 5s --time-budget 5s
expect_text "ignoring the recipe's steps, warmup" err "train with a budget and a recipe's steps"

# Another server's directory is made only for drafts that it loads.
expect_status 0 "train medusa" "$bin" train medusa --target "$model" --data "$dir/lm/my.jsonl" --out "$dir/lm/medusa" \
  --device cpu --threads 1 --quiet --steps 1 --length 64 --batch 2 --eval-every 0 --heldout 0
expect_status 1 "train export of medusa for a server" "$bin" train export --checkpoint "$dir/lm/medusa" \
  --out "$dir/lm/served" --layout vllm
expect_text "is a draft of medusa, expected one that --layout exports: eagle, hass" err "train export of medusa for a server"
expect_status 1 "train export for no server" "$bin" train export --checkpoint "$dir/lm/hass" --out "$dir/lm/served" --layout tgi
expect_text "layout is 'tgi', expected for drafts of hass: " err "train export for no server"
expect_status 1 "train export of a bias for vllm" "$bin" train export --checkpoint "$dir/lm/hass" \
  --out "$dir/lm/served" --layout vllm
expect_text "lm/hass/checkpoint.safetensors: tensor 'fc.bias' is not zero" err "train export of a bias for vllm"
expect_text "foretoken train hass --target .* --fc-bias 0 --init $dir/lm/hass --lr [0-9.e-]* --budget" err \
  "train export of a bias for vllm"
[ ! -e "$dir/lm/served" ] || fail "train export makes a folder for nothing"
expect_status 0 "train hass further without a bias" "$bin" train hass --target "$model" --data "$dir/lm/my.jsonl" \
  --fc-bias 0 --init "$dir/lm/hass" --out "$dir/lm/unbiased" --device cpu --threads 1 --steps 1 --length 64 --batch 2 \
  --eval-every 0 --heldout 0
expect_text "lm/hass: its fc.bias is left out" err "train hass further without a bias"
expect_status 0 "train export without a bias for vllm" "$bin" train export --checkpoint "$dir/lm/unbiased" \
  --out "$dir/lm/served" --layout vllm
[ -s "$dir/lm/served/model.safetensors" ] || fail "train export for vllm writes no tensors"
[ "$(ls -A "$dir/lm/served" | wc -l)" = 2 ] || fail "train export for vllm: $(ls -A "$dir/lm/served")"

finish
