#!/bin/sh
# The files of commands: unreadable inputs are refused, inputs are never overwritten, no temporary
# file is left behind.
# usage: files_test.sh FORETOKEN MODEL FOLDER
set -u
bin=$1 model=$2 dir=$3
rm -rf "$dir"
mkdir -p "$dir"
XDG_CACHE_HOME="$dir/cache"
export XDG_CACHE_HOME
. "$(dirname "$0")/expect.sh"
generate() { timeout 60 "$bin" generate -m "$model" -t 1 --ignore-eos -n 4 -q "$@"; }
questions="$dir/questions.jsonl"
printf '{"question_id": 1, "category": "writing", "turns": ["hello hello"]}\n' >"$questions"
printf '{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "x"}]}\n' >"$dir/chats.jsonl"
spec() { timeout 60 "$bin" bench spec -m "$model" -t 1 -n 4 -q --warm-up 0 --methods pld "$@"; }

# Folders are refused at once. Pipes are read as prompts and refused as other inputs. A pipe or
# folder in place of the stored costs does not stop a command.
expect_status 1 "a folder as prompt" generate -f "$dir"
expect_text "^foretoken: $dir: is a folder; a file is expected$" err "a folder as prompt"
: >"$dir/empty"
expect_status 1 "an empty prompt file" generate -f "$dir/empty"
expect_text "$dir/empty: contains no prompt" err "an empty prompt file"
"$bin" generate -m "$model" <"$dir" >"$dir/out" 2>"$dir/err" && fail "a folder as standard input"
expect_text "standard input: cannot read: Is a directory" err "a folder as standard input"
expect_status 0 "a prompt" generate -p "hello hello"
cp "$dir/out" "$dir/plain"
printf 'hello hello\n' >"$dir/text"
mkfifo "$dir/pipe"
printf 'hello hello' >"$dir/pipe" &
expect_status 0 "a pipe as prompt" generate -f "$dir/pipe"
cmp -s "$dir/out" "$dir/plain" || fail "a pipe as prompt: another text"
for source in - /dev/stdin; do
  printf 'hello hello' | generate -f $source >"$dir/out" 2>"$dir/err" || fail "-f $source: $(cat "$dir/err")"
  cmp -s "$dir/out" "$dir/plain" || fail "-f $source: another text"
done
for option in "--draft-opt" "--datastore" "--reference"; do
  value="$dir/pipe"
  [ $option = --draft-opt ] && value="heads=$dir/pipe"
  drafter=$(case $option in --datastore) echo rest ;; --reference) echo llma ;; *) echo pld+a ;; esac)
  expect_status 1 "a pipe for $option" generate -p a --drafter "$drafter" $option "$value"
  expect_text "pipe: is a pipe; a regular file is expected" err "a pipe for $option"
done
for file in "$dir/pipe" "$dir/pipe.gguf"; do
  [ -e "$file" ] || mkfifo "$file"
  expect_status 1 "a pipe as model" timeout 60 "$bin" generate -m "$file" -p a
  expect_text "$file: is a pipe; a regular file is expected" err "a pipe as model"
done
expect_status 1 "a pipe as questions" spec --questions "$dir/pipe"
expect_status 0 "costs are kept" generate -p a --drafter pld
for costs in "$dir"/cache/foretoken/costs-*.json; do rm -f "$costs" && mkfifo "$costs"; done
expect_status 0 "a pipe where costs are kept" generate -p a --drafter pld

# An output never replaces an input, under any name, with or without --force.
ln "$model" "$dir/twin.gguf" 2>/dev/null || cp "$model" "$dir/twin.gguf"
ln "$dir/twin.gguf" "$dir/hard.gguf"
ln -s twin.gguf "$dir/soft.gguf"
mkdir -p "$dir/run" "$dir/answers"
printf '{"step":1,"loss":3,"lr":0.1}\n' >"$dir/run/log.jsonl"
ln "$questions" "$dir/answers/0-none.jsonl"
sum() { cat "$dir/twin.gguf" "$questions" "$dir/chats.jsonl" "$dir/run/log.jsonl" "$dir/text" | cksum; }
before=$(sum)
# kept WHAT COMMAND...: the command fails before any work, says why, and leaves its inputs unchanged.
kept() {
  what=$1
  shift
  expect_status 1 "$what" timeout 60 "$@"
  expect_text "an output never replaces" err "$what"
  [ "$(sum)" = "$before" ] || fail "$what: an input was changed"
}
for link in twin hard soft; do
  kept "--stats over the model, $link" "$bin" generate -m "$dir/twin.gguf" -p a --stats "$dir/$link.gguf"
  kept "find-heads over the model, $link" "$bin" find-heads -m "$dir/twin.gguf" -o "$dir/$link.gguf" --force
  kept "quantize in place, $link" "$bin" quantize "$dir/twin.gguf" -o "$dir/$link.gguf" --type Q8_0 --force -q
done
kept "--attribute over the prompt" "$bin" generate -m "$model" -f "$dir/text" --drafter pld --attribute "$dir/text"
for option in --json --html; do
  kept "bench spec $option" "$bin" bench spec -m "$model" --methods pld --questions "$questions" $option "$questions"
done
kept "bench spec --answers" "$bin" bench spec -m "$model" --methods pld --questions "$questions" --answers "$dir/answers"
kept "bench fidelity" "$bin" bench fidelity -m "$dir/twin.gguf" --reference "$model" --data "$dir/text" --json "$dir/text"
for command in build-datastore count-ngrams distill; do
  kept "$command" "$bin" $command -m "$model" --data "$dir/chats.jsonl" --out "$dir/chats.jsonl" --force
done
kept "distill, to go on" "$bin" distill -m "$model" --data "$dir/chats.jsonl" --out "$dir/chats.jsonl"
kept "train plot" "$bin" train plot "$dir/run" --out "$dir/run/log.jsonl"
printf 'hello\n/save %s\n/quit\n' "$dir/twin.gguf" | "$bin" chat -m "$dir/twin.gguf" -t 1 -n 4 >"$dir/out" 2>"$dir/err"
expect_text "an output never replaces" err "chat /save"
[ "$(sum)" = "$before" ] || fail "chat /save: the model was changed"
expect_status 1 "two outputs in one file" generate -p a --drafter pld --stats "$dir/x" --attribute "$dir/../$(basename "$dir")/x"
expect_text "named for two outputs" err "two outputs in one file"

# An output that cannot be written is reported before the work begins: here, before the missing
# model.
for option in --stats --attribute; do
  expect_status 1 "$option nowhere" "$bin" generate -m none.gguf -p a --drafter pld $option "$dir/none/x"
  expect_text "$dir/none/x: cannot write into" err "$option nowhere"
done
expect_status 1 "distill nowhere" "$bin" distill -m none.gguf --data "$dir/chats.jsonl" --out "$dir/none/x"
expect_text "$dir/none/x: cannot write into" err "distill nowhere"
expect_status 1 "distill --force of a model that is missing" "$bin" distill -m none.gguf --data "$questions" \
  --out "$dir/text" --force
[ -s "$dir/text" ] || fail "distill --force lost a file before there was another"

# No temporary file is left behind, neither by this process nor by one that was killed.
dead=$(sh -c 'echo $$')
: >"$dir/stats.json.tmp$dead"
expect_status 0 "a run after a killed one" generate -p a --stats "$dir/stats.json"
[ "$(ls "$dir" | grep -c 'stats.json')" = 1 ] || fail "leftovers: $(ls "$dir")"

# Names that are not UTF-8 are written to JSON as valid UTF-8.
bytes=$(printf 'm\377.gguf')
ln "$dir/twin.gguf" "$dir/$bytes"
expect_status 0 "find-heads of a model with any name" "$bin" find-heads -m "$dir/$bytes" -t 1 -n 4 -q -o "$dir/heads.json" \
  --prompts "$dir/text"
[ "$(json "$dir/heads.json" "s['model'].endswith('m\ufffd.gguf')")" = True ] || fail "find-heads: $(cat "$dir/heads.json")"
spoken() { timeout 60 "$bin" bench spec -m "$dir/$bytes" -t 1 -n 4 -q --warm-up 0 --methods pld --questions "$questions" \
  --json "$dir/spec.json" --resume "$dir/journal.jsonl"; }
expect_status 0 "bench spec of a model with any name" spoken
[ "$(json "$dir/spec.json" "s['model'].endswith('m\ufffd.gguf')")" = True ] || fail "bench spec: $(cat "$dir/spec.json")"
expect_status 0 "its journal is taken up" spoken
[ "$(wc -l <"$dir/journal.jsonl")" = 2 ] || fail "its journal is begun anew: $(cat "$dir/journal.jsonl")"

# A full disk is an error everywhere.
# full WHAT COMMAND...: the command fails with an error if its standard output is full.
full() {
  what=$1
  shift
  printf 'hello' | "$@" >/dev/full 2>"$dir/err"
  got=$?
  [ $got -eq 1 ] || fail "$what into a full disk: status $got"
  expect_text "standard output" err "$what into a full disk"
}
full "--help" "$bin" --help
full "--version" "$bin" --version
full "generate --help" "$bin" generate --help
full "bench spec --help" "$bin" bench spec --help
full "generate" generate -p hello
full "generate --stats -" generate -p hello --stats -
full "inspect" "$bin" inspect "$model"
full "inspect --json" "$bin" inspect "$model" --json
full "tokenize" "$bin" tokenize -m "$model"
full "train plot" "$bin" train plot "$dir/run" --out -
full "chat" "$bin" chat -m "$model" -t 1 -n 4
full "bench paper" "$bin" bench paper
full "bench paper --printed" "$bin" bench paper glide-1 --printed
full "bench spec" spec --questions "$questions"
full "bench fidelity" "$bin" bench fidelity -m "$model" -t 1 --reference "$model" --data "$0" --positions 20
full "inspect of a draft" "$bin" inspect "$(dirname "$0")/../../models/drafts/foretoken-demo-24m-hass-q8_0.gguf"
full "inspect --tensors" "$bin" inspect "$model" --tensors
# A full disk is reported before the work begins: here, before the missing model.
for option in --stats --attribute; do
  expect_status 1 "$option into a full disk" "$bin" generate -m none.gguf -p a --drafter pld $option /dev/full
  expect_text "/dev/full: cannot write: No space left on device" err "$option into a full disk"
done
"$bin" generate -m none.gguf -p a --stats - >/dev/full 2>"$dir/err"
expect_text "standard output: cannot write: No space left on device" err "--stats - into a full disk"

# Git LFS pointers and HTML pages, which failed downloads leave in a file's place, are named as such.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' >"$dir/pointer"
printf '<!DOCTYPE html>\n<html><body>Sign in</body></html>\n' >"$dir/page"
mkdir -p "$dir/hf"
printf '{"architectures": ["LlamaForCausalLM"], "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
  "num_hidden_layers": 1, "num_attention_heads": 1}' >"$dir/hf/config.json"
for kind in pointer page; do
  is=$([ $kind = pointer ] && echo "is a Git LFS pointer" || echo "is an HTML page")
  for name in model.gguf tokenizer.json tokenizer.model medusa_lm_head.pt hf/model.safetensors; do
    cp "$dir/$kind" "$dir/$name"
  done
  expect_status 1 "a $kind as model" "$bin" generate -m "$dir/model.gguf" -p a
  expect_text "$dir/model.gguf: $is" err "a $kind as model"
  expect_status 1 "inspect of a $kind" "$bin" inspect "$dir/model.gguf"
  expect_text "$dir/model.gguf: $is" err "inspect of a $kind"
  for name in tokenizer.json tokenizer.model; do
    expect_status 1 "a $kind as $name" "$bin" tokenize -m "$dir/$name"
    expect_text "$dir/$name: $is" err "a $kind as $name"
  done
  expect_status 1 "a $kind as weights" "$bin" generate -m "$dir/hf" -p a
  expect_text "$dir/hf/model.safetensors: $is" err "a $kind as weights"
  expect_status 1 "a $kind as draft" "$bin" generate -m "$model" -p a --draft "$dir/medusa_lm_head.pt" --drafter medusa
  expect_text "$dir/medusa_lm_head.pt: $is" err "a $kind as draft"
  rm "$dir/model.gguf" "$dir/medusa_lm_head.pt"
done

# Figures of a bench command become rows of a CSV file.
record() {
  "$(dirname "$0")/../../bench/record_figures.py" --csv "$dir/figures.csv" --machine "this one" --label type=F32 -- \
    "$bin" bench decode -m "$model" --repeats 1 "$@"
}
expect_status 0 "figures into a new file" record --rows 1,2
cp "$dir/figures.csv" "$dir/kept"
expect_text '^this one,20..-..-..,.*,"foretoken bench decode -m tiny.gguf --repeats 1 --rows 1,2",pass; type=F32; rows=2; context=0,[0-9.]*,ms$' \
  figures.csv "the time of a pass"
expect_text ',autoregressive; type=F32,[0-9.]*,tokens/s$' figures.csv "the speed of decoding"
expect_status 0 "figures into a file with figures" record --rows 1,2
head -c "$(wc -c <"$dir/kept")" "$dir/figures.csv" | cmp -s - "$dir/kept" || fail "earlier figures are changed"
[ "$(grep -c '^machine,' "$dir/figures.csv")" -eq 1 ] || fail "figures: more than one line of names"
[ "$(grep -c 'rows=2; context=0,' "$dir/figures.csv")" -eq 2 ] || fail "figures of two runs: not two times of a pass"
cp "$dir/figures.csv" "$dir/kept"
expect_status 1 "figures of a command that fails" record --rows 0
cmp -s "$dir/figures.csv" "$dir/kept" || fail "a command that fails leaves figures"
echo "a,b" >"$dir/figures.csv"
expect_status 1 "figures into another table" record
expect_text "figures.csv: has other columns than machine,date" err "figures into another table"

finish
