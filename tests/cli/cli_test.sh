#!/bin/sh
# Tests of the commands as users' scripts see them: exit statuses, output streams and the contents
# of --stats files.
# usage: cli_test.sh FORETOKEN MODEL FOLDER
set -u
bin=$1 model=$2 dir=$3
mkdir -p "$dir"
XDG_CACHE_HOME="$dir/cache"
export XDG_CACHE_HOME

. "$(dirname "$0")/expect.sh"

generate() { "$bin" generate -m "$model" -t 1 --ignore-eos "$@"; }

# Wrong usage ends with status 2 and a message that says what is wrong.
expect_status 2 "no command" "$bin"
expect_text "foretoken demo" err "no command says what to begin with"
expect_status 2 "unknown command" "$bin" frobnicate
expect_text "no command 'frobnicate'; 'foretoken --help' lists them" err "unknown command"
expect_status 2 "mistyped command" "$bin" genrate
expect_text "no command 'genrate'; did you mean generate?" err "mistyped command"
expect_status 0 "help" "$bin" --help
expect_text "generate" out "help lists commands"
expect_status 0 "generate --help" "$bin" generate --help
expect_text "draft-max" out "generate --help"
expect_text "default auto" out "generate --help names the default drafter"
expect_text "foretoken generate -m model.gguf --chat" out "generate --help has examples"
for group in "Model and machine" Prompt Length Output Sampling Speculation Examples; do
  expect_text "^$group.*:\$" out "generate --help has the group $group"
done
[ "$(awk '{ if (length > longest) longest = length } END { print longest }' "$dir/out")" -le 110 ] ||
  fail "generate --help has lines that fit no terminal"
expect_status 0 "chat --help" "$bin" chat --help
expect_text "default auto" out "chat --help names the default drafter"
expect_text "foretoken chat -m model.gguf" out "chat --help has examples"
expect_status 0 "distill --help" "$bin" distill --help
expect_text "default none" out "distill --help names the default drafter"
expect_status 2 "no model" "$bin" generate -p hello
expect_text "model" err "no model"
expect_status 2 "unknown option" generate --frobnicate
expect_text "no option --frobnicate; see 'foretoken generate --help'" err "unknown option"
expect_status 2 "mistyped option" generate -p a --tmep 3
expect_text "no option --tmep; did you mean --temp?" err "mistyped option"
expect_status 2 "mistyped option with a value" generate -p a --new_token=3
expect_text "no option --new_token; did you mean --new-tokens?" err "mistyped option with a value"
expect_status 2 "mistyped part" "$bin" bench limts
expect_text "no 'limts'; did you mean limits?" err "mistyped part"
expect_status 2 "mistyped option of a part" "$bin" bench decode --row 3
expect_text "no option --row; did you mean --rows?; see 'foretoken bench decode --help'" err "mistyped option of a part"
expect_status 2 "model without -m" "$bin" chat "$model"
expect_text "expected an option; did you mean -m .*tiny.gguf?" err "model without -m"
# llama.cpp's options: accepted if they mean the same or change nothing here; otherwise a message
# explains what to use.
expect_status 0 "our options" generate -p "hello" -n 12 --temp 0.9 --seed 3 --top-k 40 --logit-bias 104:2 -q
cp "$dir/out" "$dir/ours"
expect_status 0 "llama.cpp's options" generate -p "hello" -n 12 --temperature 0.9 -s 3 --top-k 40 --logit-bias 104+2 -q \
  -ngl 99 -fa on --mlock -b 512 -ub 128 -c 64 -ctk f16 -no-cnv --jinja
cmp -s "$dir/out" "$dir/ours" || fail "llama.cpp's options write another text"
expect_text "^foretoken: -ngl does nothing: foretoken runs on the CPU$" err "-ngl"
[ "$(grep -c "does nothing" "$dir/err")" = 5 ] || fail "llama.cpp's options: notes: $(cat "$dir/err")"
expect_status 0 "llama.cpp's options with =" generate -p "hello" --predict=12 --temperature=0.9 -s 3 --top-k=40 -l 104:2 -q -fa
cmp -s "$dir/out" "$dir/ours" || fail "llama.cpp's options with = write another text"
expect_status 0 "a value that looks like an option" generate -p -ngl -n 1 --stats "$dir/dash.json"
[ "$(json "$dir/dash.json" "s['prompt_tokens']")" = 4 ] || fail "a value was taken for an option"
for answered in "-hf a/b:downloads nothing" "-cnv:use 'foretoken chat' for a conversation" \
  "-ctv f16:--cache-type sets the type of both" "--mirostat 2:--top-k" "-e:used as they are" "-r x:end tokens"; do
  # shellcheck disable=SC2086
  expect_status 2 "generate ${answered%%:*}" generate -p a ${answered%%:*}
  expect_text "${answered#*:}" err "generate ${answered%%:*}"
done
expect_status 2 "llama.cpp's --draft" generate -p a --draft 5
expect_text "^foretoken: --draft: expected a file; --draft-max limits" err "llama.cpp's --draft"
expect_status 1 "a draft whose name is a number" generate -p a --draft-opt draft=5
expect_text "^foretoken: 5: cannot open" err "a draft whose name is a number"
expect_status 0 "llama.cpp's -t" "$bin" generate -m "$model" --ignore-eos -p "hello" -n 12 --temp 0.9 --seed 3 --top-k 40 \
  --logit-bias 104:2 -q -t -1
cmp -s "$dir/out" "$dir/ours" || fail "-t -1 writes another text"
expect_status 2 "serve --spec-type" "$bin" serve -m "$dir/none.gguf" --spec-type draft
expect_text "--drafter chooses how drafts are made" err "serve --spec-type"
expect_status 1 "serve with options of llama-server" "$bin" serve -m "$dir/none.gguf" -v --no-webui -to 600 --reasoning-format auto
[ "$(grep -c "does nothing" "$dir/err")" = 4 ] || fail "options of llama-server: notes: $(cat "$dir/err")"
expect_status 1 "serve with MoE options, and one type of cache" "$bin" serve -m "$dir/none.gguf" -cmoe -ctk q8_0 -ctv q8_0
expect_text "none.gguf: cannot open" err "serve with MoE options, and one type of cache"
expect_status 2 "serve with two types of cache" "$bin" serve -m "$dir/none.gguf" -ctk q8_0 -ctv f16
expect_status 2 "serve -s" "$bin" serve -m "$dir/none.gguf" -s 1
expect_text "^foretoken: -s: clients set it in their requests" err "serve -s"
expect_status 2 "chat -p" "$bin" chat -m "$model" -p hello
expect_text "foretoken generate --chat -p TEXT" err "chat -p"
expect_status 2 "distill -b" "$bin" distill -m "$model" --data "$dir/none.jsonl" --out "$dir/none.out" -b 8
expect_text "no option -b" err "distill takes no option of llama.cpp"
expect_status 2 "distill --grammar" "$bin" distill -m "$model" --data "$dir/none.jsonl" --out "$dir/none.out" --grammar x
expect_text "no option --grammar" err "distill answers no option of llama.cpp"
expect_status 2 "bench spec -ngl" "$bin" bench spec -m "$model" --questions "$dir/none.jsonl" -ngl 99
expect_status 0 "chat -cnv" "$bin" chat -m "$model" -t 1 -cnv --color
expect_status 2 "bad number" generate -p a -n many
expect_status 2 "zero tokens" generate -p a -n 0
expect_text "^foretoken: --new-tokens: found 0, expected -1 or at least 1$" err "zero tokens"
expect_status 2 "chat, zero tokens" "$bin" chat -m "$model" -n 0
expect_text "^foretoken: --new-tokens: found 0, expected -1 or at least 1$" err "chat, zero tokens"
expect_status 2 "bad temperature" generate -p a --temp -1
expect_status 2 "prompt and file" generate -p a -f b
expect_status 2 "unknown drafter" generate -p a --drafter guesswork
expect_text "pld+h" err "unknown drafter lists the known"
expect_status 2 "bad draft option" generate -p a --drafter pld --draft-opt nonsense
expect_status 2 "unknown tree" generate -p a --tree oak
expect_text "eagle2" err "unknown tree lists the known"
expect_status 2 "bad cache type" generate -p a --cache-type q3
expect_status 2 "bad isa" generate -p a --isa mmx

# Answers in a given form.
formed() { "$bin" generate -m "$model" -t 1 -p hello "$@"; }
expect_status 0 "--grammar" formed --grammar 'root ::= "yes" | "no"' --check -q
grep -qxE "yes|no" "$dir/out" || fail "--grammar: $(cat "$dir/out")"
printf '%s' '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "n": {"enum": [1, 2]}}, "required": ["name", "n"]}' >"$dir/schema.json"
for form in "-j @$dir/schema.json" "--json-schema-file $dir/schema.json --drafter pld --tree eagle2" "-jf $dir/schema.json --temp 1 --seed 4"; do
  # shellcheck disable=SC2086
  expect_status 0 "$form" formed $form --check -q
  [ "$(json "$dir/out" "(sorted(s), s['n'] in (1, 2), len(s['name']) <= 8)")" = "(['n', 'name'], True, True)" ] ||
    fail "$form: $(cat "$dir/out")"
done
expect_status 0 "chat --grammar" sh -c "printf 'hello\\nagain\\n' | '$bin' chat -m '$model' -t 1 --grammar 'root ::= \"so\"'"
[ "$(grep -c so "$dir/out")" = 2 ] || fail "chat --grammar: $(cat "$dir/out")"
expect_status 1 "a wrong grammar" formed --grammar 'root ::= "a'
expect_text "^foretoken: --grammar: line 1, column 10: a text that is not closed" err "a wrong grammar"
expect_status 1 "a keyword that is not supported" formed --json-schema '{"properties": {"a": {"not": {}}}}'
expect_text "^foretoken: --json-schema: #/properties/a: the keyword 'not' is not supported" err "a keyword"
expect_status 1 "a schema file that is missing" formed -j "@$dir/none.json"
expect_text "none.json" err "a schema file that is missing"
expect_status 1 "two forms" formed -j '{}' --grammar 'root ::= "a"'
expect_text "expected one" err "two forms"
expect_status 2 "a form and --ignore-eos" formed -j '{}' --ignore-eos

# An option without its value does not swallow the next option.
expect_status 2 "--stats without a file" generate -p a --stats --chat
expect_text "--stats has no value: found the option --chat; write --stats=--chat" err "--stats without a file"
[ ! -e "--chat" ] || fail "a file named --chat was written"
expect_status 2 "a subcommand's option without a value" "$bin" bench spec -m "$model" --questions --methods pld
expect_text "--questions has no value: found the option --methods" err "--questions without a file"
expect_status 0 "a prompt that looks like an option" generate -n 1 --prompt=--chat

# Numbers beyond their range are named, with the range.
expect_status 2 "top-p of nothing" generate -p a --top-p 0
expect_text "top-p: found 0, expected 1e-08 to 1" err "top-p of nothing"
expect_status 1 "a bias beyond the vocabulary" generate -p a --logit-bias 259:1
expect_text "found token 259, the model's vocabulary has 259 (0 to 258)" err "a bias beyond the vocabulary"
expect_status 2 "a seed beyond its range" generate -p a --seed 18446744073709551616
expect_text "expected 0 to 18446744073709551615, or -1" err "a seed beyond its range"
for command in "generate -m $model" "chat -m $model" "distill -m $model" "bench spec -m $model"; do
  expect_status 2 "$command: negative seed" "$bin" $command --seed -2
  expect_text "found '-2', expected 0 to" err "$command: negative seed"
done
expect_status 0 "a random seed" generate -p "hello" -n 20 --temp 2 --seed -1
cp "$dir/out" "$dir/kept"
seed=$(sed -n 's/^seed -1: --seed \([0-9]*\) repeats it$/\1/p' "$dir/err")
expect_status 0 "a random seed, again" generate -p "hello" -n 20 --temp 2 --seed "$seed" -q
cmp -s "$dir/out" "$dir/kept" || fail "the seed that was printed does not repeat the text"
expect_status 0 "another random seed" generate -p "hello" -n 20 --temp 2 --seed -1
cmp -s "$dir/out" "$dir/kept" && fail "-1 is a fixed seed"

# Infinite logits, from biases or temperatures, and logits that are NaN.
for verifier in exact nucleus sequential chain tree typical; do
  for bias in 98:inf 98:3e38; do
    expect_status 0 "$verifier, $bias" generate -p "hello" -n 6 --temp 0.5 --verifier $verifier \
      --logit-bias $bias -q
    [ "$(cat "$dir/out")" = bbbbbb ] || fail "$verifier, $bias: wrote $(cat "$dir/out")"
  done
done
# wrong_weight FILE OFFSET COUNT VALUE: writes the model to FILE with COUNT floats set to VALUE, from
# float OFFSET on, counted from the first of output.weight.
wrong_weight() {
  python3 -c "import struct, sys
name, first, count, value = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
model = bytearray(open(sys.argv[1], 'rb').read())
head = 259 * 64 * 4
data = len(model) - 2 * head - (64 + 3 * (128 + 2 * 4096 + 2 * 2048 + 3 * 8192)) * 4
for i in range(first, first + count):
    struct.pack_into('<f', model, data + head + 4 * i, value)
open(name, 'wb').write(model)" "$model" "$@"
}
wrong_weight "$dir/wrong.gguf" 700 1 nan
expect_status 1 "a weight that is no number" "$bin" generate -m "$dir/wrong.gguf" -t 1 -p hello -n 4 --check
expect_text "wrong.gguf: output.weight: holds a weight that is not finite" err "a weight that is no number"
wrong_weight "$dir/wrong.gguf" 16576 64 3e38  # output_norm.weight
for options in "" "--temp 1" "--temp 1 --verifier sequential" "--temp 1 --verifier typical"; do
  expect_status 1 "logits that are no numbers $options" "$bin" generate -m "$dir/wrong.gguf" -t 1 -p hello -n 4 $options
  expect_text "wrong.gguf: the pass at position 4 gave a logit that is not a number" err "logits that are no numbers $options"
done

# Faults of files end with status 1 and a message that names the file.
expect_status 1 "missing model" "$bin" generate -m "$dir/none.gguf" -p a
expect_text "none.gguf" err "missing model"
expect_status 1 "missing prompt file" generate -f "$dir/none.txt"
expect_text "none.txt" err "missing prompt file"
head -c 3000 "$model" >"$dir/cut.gguf"
expect_status 1 "truncated model" "$bin" generate -m "$dir/cut.gguf" -p a
expect_text "cut.gguf" err "truncated model"
expect_status 1 "empty prompt" generate -p ""
expect_text "tiny.gguf: the prompt has no tokens, expected at least one" err "empty prompt"
expect_status 1 "context beyond the model's" generate -p a -c 100000
expect_status 1 "prompt beyond the context" generate -p "a long prompt" -c 4
expect_status 1 "unknown drafter option" generate -p a --drafter pld --draft-opt kk=3
expect_text "kk" err "unknown drafter option"
expect_status 1 "unknown tree option" generate -p a --tree eagle2:total=3
expect_text "total_token" err "unknown tree option lists the known"
printf '0\n0,x\n' >"$dir/bad_tree.txt"
expect_status 1 "bad tree file" generate -p a --tree "static:file=$dir/bad_tree.txt"
expect_text "bad_tree.txt:2" err "bad tree file"
expect_status 1 "unwritable statistics" generate -p a -n 4 --stats "$dir/none/stats.json"

# More threads than the system can start end with status 1, too. With stacks of a terabyte it can
# start about a hundred.
crowded() { (ulimit -s 1000000000 && exec "$bin" "$@"); }
if (ulimit -s 1000000000) 2>/dev/null; then
  for command in "generate -p a" chat "find-heads -o $dir/crowded.json" "bench overhead" \
    "bench neighbours" "bench decode"; do
    expect_status 1 "$command on 1000 threads" crowded $command -m "$model" -t 1000
    expect_text "cannot start 1000 threads.*--threads" err "$command on 1000 threads"
  done
  for command in "bench limits" "bench kernels" "quantize $model -o $dir/crowded.gguf --type f16"; do
    expect_status 1 "$command on 1000 threads" crowded $command -t 1000
    expect_text "cannot start 1000 threads.*--threads" err "$command on 1000 threads"
  done
fi

# The text goes to standard output, everything else to standard error.
expect_status 0 "prompt by -p" generate -p "hello hello hello" -n 24
cp "$dir/out" "$dir/plain"
expect_text "24 new tokens" err "summary"
expect_text "^auto: .* tokens a pass" err "speculation is on"
[ -s "$dir/out" ] || fail "no text on standard output"
printf 'hello hello hello' >"$dir/prompt.txt"
expect_status 0 "prompt by -f" generate -f "$dir/prompt.txt" -n 24 -q
cmp -s "$dir/out" "$dir/plain" || fail "-f and -p write different texts"
[ -s "$dir/err" ] && fail "--quiet is not quiet"
# The speed-up is estimated, unless --check measures it or the tree is not sized by costs.
expect_status 0 "an estimate" generate -p "hello hello hello" -n 40
expect_text "; text unchanged$" err "an estimate"
expect_status 0 "a measured speed-up" generate -p "hello hello hello" -n 40 --check
expect_text "^check: all 40 tokens match decoding without drafts ([0-9.]* tokens/s); auto was [0-9.]* times as fast$" err \
  "a measured speed-up"
grep -q "text unchanged" "$dir/err" && fail "--check prints an estimate as well: $(cat "$dir/err")"
expect_status 0 "no estimate" generate -p "hello hello hello" -n 40 --drafter pld --tree chain:gamma=5
expect_text "^no estimate of the speed-up: tree chain:gamma=5 does not weigh costs$" err "no estimate"
expect_status 0 "a check without a drafter" generate -p "hello hello hello" -n 40 --drafter none --check
expect_text "^check: all 40 tokens .* tokens/s)$" err "a check without a drafter"
printf 'hello hello hello' | generate -n 24 -q >"$dir/out" || fail "prompt by pipe"
cmp -s "$dir/out" "$dir/plain" || fail "a pipe and -p write different texts"
generate -p "hello" -n 200 -q 2>"$dir/err" | head -c 1 >/dev/null || fail "a reader that goes away"

# The statistics contract.
for drafter in none pld pld+h pld+a lookahead; do
  expect_status 0 "$drafter --check" generate -p "hello hello hello" -n 40 --drafter "$drafter" \
    --tree paper --check --stats "$dir/$drafter.json"
  expect_text "check: all 40 tokens" err "$drafter --check"
  [ "$(json "$dir/$drafter.json" "s['tokens']")" = "$(json "$dir/none.json" "s['tokens']")" ] ||
    fail "$drafter: other tokens than plain decoding"
  [ "$(json "$dir/$drafter.json" "s['prompt_tokens'] == 17 and s['new_tokens'] == 40 \
    and len(s['tokens']) == 40 and sorted(s['seconds']) == ['draft','load','other','prefill','verify'] \
    and all(v >= 0 for v in s['seconds'].values()) and s['tokens_per_second'] > 0 \
    and s['cycles'] == len(s['n_acc']) and 1 + sum(n + 1 for n in s['n_acc']) == 40 \
    and s['written'] == [n + 1 for n in s['n_acc']] and len(s['drafted_depth']) == s['cycles'] \
    and abs(s['tau_micro'] - (sum(s['n_acc']) / s['cycles'] + 1)) < 1e-9 \
    and all(k in s for k in ['tau_macro','acc_only','alpha_edd','alpha_tok','alpha_n','E_spd'])")" \
    = True ] || fail "$drafter: statistics contract: $(cat "$dir/$drafter.json")"
  expect_status 0 "$drafter sampled --check" generate -p "hello hello" -n 40 --temp 0.8 --top-p 0.9 \
    --seed 5 --drafter "$drafter" --check --stats "$dir/$drafter.sampled.json"
  [ "$(json "$dir/$drafter.sampled.json" "s['tokens']")" = \
    "$(json "$dir/none.sampled.json" "s['tokens']")" ] || fail "$drafter: another sampled text"
done
[ "$(json "$dir/pld.json" "sum(s['n_acc']) > 0")" = True ] || fail "pld: no draft was accepted"
generate -p "hello hello hello" -n 40 -q >"$dir/first.txt" 2>"$dir/err"
printf 'nothing like it' >"$dir/second.txt"
expect_status 0 "llma" generate -p "hello hello hello" -n 40 --drafter llma --tree paper --check \
  --reference "$dir/second.txt" --reference "$dir/first.txt" --stats "$dir/llma.json"
[ "$(json "$dir/llma.json" "sum(s['n_acc']) > 0")" = True ] || fail "llma: no draft was accepted"
expect_status 0 "draft model" generate -p "hello hello hello" -n 37 --drafter draft-model --check --tree paper \
  --draft-model "$model" --temp 1 --stats "$dir/twin.json"
[ "$(json "$dir/twin.json" "s['tau_micro']")" = 6.0 ] || fail "a model refuses its own drafts"
# The default drafter copies text, and uses a draft from drafts/ beside the model: the folder is
# missing, or has drafts, or broken ones.
expect_status 0 "plain" generate -p "hello hello hello" -n 40 --drafter none --stats "$dir/default.json"
grep -q "tokens a pass" "$dir/err" && fail "plain decoding speaks of drafts: $(cat "$dir/err")"
[ "$(json "$dir/default.json" "s['tau_micro']")" = 1.0 ] || fail "--drafter none drafts"
expect_status 1 "draft model without a file" generate -p a --drafter draft-model
expect_text "drafter draft-model: found no model with this model's vocabulary in .*/drafts (there is no such folder)" err "draft model without a file"
expect_text "model gives the path of one elsewhere" err "draft model without a file names the option"
rm -rf "$dir/own"
mkdir -p "$dir/own/drafts"
cp "$model" "$dir/own/model.gguf"
cp "$model" "$dir/own/drafts/a.gguf"
ownly() { "$bin" generate -m "$dir/own/model.gguf" -t 1 --ignore-eos -p "hello hello hello" -n 37 -q --check "$@"; }
expect_status 0 "the draft model beside it" ownly --drafter draft-model --tree paper --temp 1 --stats "$dir/own.json"
[ "$(json "$dir/own.json" "s['tau_micro']")" = 6.0 ] || fail "the draft model beside it refuses its own drafts"
[ -s "$dir/err" ] && fail "the draft model beside it: $(cat "$dir/err")"
expect_status 0 "auto with the draft model beside it" ownly --tree chain:gamma=5 --temp 1 --stats "$dir/own.json"
[ "$(json "$dir/own.json" "s['tau_micro'] > 3")" = True ] || fail "auto does not take the draft model beside it"
expect_status 0 "auto with one" "$bin" generate -m "$dir/own/model.gguf" -t 1 --ignore-eos -p hello -n 4
expect_text "^foretoken: drafter auto uses $dir/own/drafts/a.gguf (draft-model), the only draft in $dir/own/drafts; --draft or " \
  err "auto with one says which"
expect_status 0 "auto with one, quietly" ownly
[ -s "$dir/err" ] && fail "auto with one, quietly: $(cat "$dir/err")"
expect_status 0 "auto with one and a named draft" "$bin" generate -m "$dir/own/model.gguf" -t 1 --ignore-eos -p hello -n 4 \
  --draft-model "$model"
grep -q "the only draft" "$dir/err" && fail "auto with a named draft says which it found: $(cat "$dir/err")"
printf 'hello\n' | "$bin" chat -m "$dir/own/model.gguf" -t 1 -n 4 >"$dir/out" 2>"$dir/err" || fail "chat with one draft: status $?"
expect_text "auto uses $dir/own/drafts/a.gguf (draft-model), the only draft" err "chat with one draft says which"
rm -rf "$dir/misplaced"
mkdir -p "$dir/misplaced"
cp "$model" "$dir/misplaced/model.gguf"
cp "$model" "$dir/misplaced/drafts"
expect_status 0 "a draft named drafts" "$bin" generate -m "$dir/misplaced/model.gguf" -t 1 --ignore-eos -p hello -n 4 -q
expect_text "^foretoken: $dir/misplaced/drafts is a file; drafts are looked for in a folder of this name$" err \
  "a draft named drafts"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "a draft named drafts: more than a note: $(cat "$dir/err")"
cp "$model" "$dir/own/drafts/b.gguf"
expect_status 0 "auto with two" "$bin" generate -m "$dir/own/model.gguf" -t 1 --ignore-eos -p hello -n 4
expect_text "auto uses $dir/own/drafts/a.gguf (draft-model), of 2 drafts" err "auto with two says which"
expect_status 0 "draft-model with two" ownly --drafter draft-model
expect_text "draft-model uses $dir/own/drafts/a.gguf, the first of 2" err "draft-model with two says which"
head -c 20000 "$model" >"$dir/own/drafts/a.gguf"
rm "$dir/own/drafts/b.gguf"
cp "$dir/plain" "$dir/own/drafts/text.gguf"
expect_status 0 "auto with a broken draft" ownly
expect_text "a.gguf: .*this draft is skipped" err "auto with a broken draft"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "auto with a broken draft says more: $(cat "$dir/err")"
expect_status 0 "a context that leaves no room" generate -p "hello hello hello" -c 18 --check
expect_status 0 "one token" generate -p "hello" -n 1 --check
for verifier in sequential chain tree typical; do
  expect_status 0 "auto, $verifier" generate -p "hello hello" -n 40 --temp 1 --seed 2 --verifier $verifier -q
  cp "$dir/out" "$dir/kept"
  expect_status 0 "auto, $verifier, again" generate -p "hello hello" -n 40 --temp 1 --seed 2 --verifier $verifier -q
  cmp -s "$dir/out" "$dir/kept" || fail "auto, $verifier: one seed writes two texts"
done
printf '{"text": "%s"}\n{"messages": [{"role": "user", "content": "hello"}]}\n' \
  "hello hello hello" >"$dir/corpus.jsonl"
{ printf 'hello hello hello'; cat "$dir/first.txt"; } >"$dir/corpus.txt"
rm -f "$dir/corpus.datastore"
expect_status 0 "build-datastore" "$bin" build-datastore -m "$model" --out "$dir/corpus.datastore" \
  --data "$dir/corpus.jsonl" --data "$dir/corpus.txt"
expect_text "3 documents" err "build-datastore says what it did"
expect_status 1 "build-datastore over a file" "$bin" build-datastore -m "$model" \
  --out "$dir/corpus.datastore" --data "$dir/corpus.txt"
expect_text "exists already" err "build-datastore over a file"
expect_status 0 "rest" generate -p "hello hello hello" -n 40 --drafter rest --check --tree paper \
  --datastore "$dir/corpus.datastore" --stats "$dir/rest.json"
[ "$(json "$dir/rest.json" "sum(s['n_acc']) > 0")" = True ] || fail "rest: no draft was accepted"
expect_status 1 "rest with another file" generate -p a --drafter rest --datastore "$model"
expect_text "magic" err "rest with another file"
expect_status 1 "llma without a reference" generate -p a --drafter llma
expect_text "option reference is missing" err "llma without a reference"
expect_status 1 "llma with a missing reference" generate -p a --drafter llma --reference "$dir/no.txt"
expect_text "no.txt" err "llma with a missing reference"

expect_status 0 "count-ngrams" "$bin" count-ngrams -m "$model" --out "$dir/ngrams" --force -n 2 \
  --most 5 --data "$dir/corpus.txt"
[ "$(wc -l <"$dir/ngrams")" -eq 5 ] || fail "count-ngrams: not 5 lines"
# distill answers a data set: in order, the same with any batch size, and resumable.
for i in 1 2 3 4 5; do
  printf '{"messages": [{"role": "user", "content": "hello %s"}, %s{"role": "user", "content": "and"}]}\n' \
    $i '{"role": "assistant", "content": "x"}, '
done >"$dir/asked.jsonl"
distill() { distill_up_to 6 "$@"; }
distill_up_to() {
  longest=$1
  shift
  "$bin" distill -m "$model" -t 1 -q --data "$dir/asked.jsonl" -n "$longest" --temp 1 --seed 3 "$@"
}
expect_status 0 "distill" distill --out "$dir/one.jsonl" --batch 1 --force
expect_status 0 "distill, batched" distill --out "$dir/three.jsonl" --batch 3 --drafter pld --force
[ -s "$dir/err" ] && fail "distill -q is not quiet: $(cat "$dir/err")"
cmp -s "$dir/one.jsonl" "$dir/three.jsonl" || fail "distill: the batch changes the answers"
[ "$(wc -l <"$dir/one.jsonl")" -eq 5 ] || fail "distill: not 5 lines"
head -n 2 "$dir/one.jsonl" >"$dir/part.jsonl"
printf '{"source": 2, "mess' >>"$dir/part.jsonl"
expect_status 0 "distill continues" distill --out "$dir/part.jsonl"
cmp -s "$dir/one.jsonl" "$dir/part.jsonl" || fail "distill: a resumed run differs"
expect_status 0 "distill is done" distill --out "$dir/part.jsonl"
cmp -s "$dir/one.jsonl" "$dir/part.jsonl" || fail "distill: a finished run is continued"
printf '{"sou' >"$dir/part.jsonl"
expect_status 0 "distill after half a line" distill --out "$dir/part.jsonl"
cmp -s "$dir/one.jsonl" "$dir/part.jsonl" || fail "distill: half a line counts"
printf '%s\n' '{"question_id": 7, "category": "qa", "turns": ["one", "two"]}' '{"prompt": "three"}' '{"question": "three"}' \
  >"$dir/questions_alone.jsonl"
expect_status 0 "distill of questions alone" "$bin" distill -m "$model" -t 1 --data "$dir/questions_alone.jsonl" -n 2 \
  --logit-bias 256:100 --out "$dir/alone.jsonl" --force
expect_text "^1 document was left out: .* asked before" err "distill leaves out what was asked before"
expect_text "^$dir/alone.jsonl: 2 answered conversations; to train a draft with them: foretoken train hass --target $model --data $dir/alone.jsonl$" \
  err "distill names the command that trains"
[ "$(wc -l <"$dir/alone.jsonl")" -eq 2 ] || fail "distill of questions alone: not 2 lines"
[ "$(head -n 1 "$dir/alone.jsonl" | grep -o '"assistant"' | wc -l)" -eq 2 ] || fail "distill: not both turns are answered"
expect_status 0 "distill of an answer that repeats itself" "$bin" distill -m "$model" -t 1 --data "$dir/questions_alone.jsonl" -n 40 \
  --logit-bias 97:100 --out "$dir/repeated.jsonl" --force
expect_text "3 documents were left out: .* repeats itself" err "distill leaves out answers that repeat themselves"
expect_text "^$dir/repeated.jsonl: 0 answered conversations$" err "distill without answers names no command"
expect_status 0 "distill, turn by turn" distill --out "$dir/short.jsonl" --logit-bias 256:100 --force
[ "$(grep -c '"content":""},{"role":"user","content":"and"},{"role":"assistant","content":""}' \
  "$dir/short.jsonl")" -eq 5 ] || fail "distill: not every question is answered"
for other in corpus.txt corpus.jsonl; do
  cp "$dir/$other" "$dir/kept"
  expect_status 1 "distill over $other" distill --out "$dir/$other"
  expect_text "not an output of distill" err "distill over $other"
  cmp -s "$dir/$other" "$dir/kept" || fail "distill: $other was changed"
done
# A record of what the answers depend on is kept beside them.
begin_answers() {
  head -n 2 "$dir/one.jsonl" >"$dir/begun.jsonl"
  cp "$dir/one.jsonl.run.json" "$dir/begun.jsonl.run.json"
  cp "$dir/begun.jsonl" "$dir/kept"
}
begin_answers
expect_status 1 "distill, longer answers" distill_up_to 7 --out "$dir/begun.jsonl"
expect_text "begun.jsonl holds answers that were started with other settings or data: new_tokens was 6, now 7. --change new_tokens continues" err \
  "distill, longer answers"
expect_status 1 "distill, other sampling" distill --out "$dir/begun.jsonl" --top-k 4
expect_text "top_k was 0, now 4" err "distill, other sampling"
expect_status 1 "distill, other changes" distill_up_to 7 --out "$dir/begun.jsonl" --change temp
expect_text "change new_tokens,temp continues" err "distill, other changes"
expect_status 1 "distill, no such change" distill --out "$dir/begun.jsonl" --change lr
expect_text "change is 'lr', expected some of model, data" err "distill, no such change"
python3 -c "import sys
model = bytearray(open(sys.argv[1], 'rb').read())
model[-8] ^= 1  # a weight
open(sys.argv[2], 'wb').write(model)" "$model" "$dir/other.gguf"
expect_status 1 "distill, another model" "$bin" distill -m "$dir/other.gguf" -t 1 -q -n 6 --temp 1 --seed 3 \
  --data "$dir/asked.jsonl" --out "$dir/begun.jsonl"
expect_text "the answers are of another model" err "distill, another model"
cp "$dir/asked.jsonl" "$dir/asked.kept"
sed 's/hello 5/hullo 5/' "$dir/asked.kept" >"$dir/asked.jsonl"
expect_status 1 "distill of a changed question" distill --out "$dir/begun.jsonl"
expect_text "asked.jsonl has different contents" err "distill of a changed question"
cp "$dir/asked.kept" "$dir/asked.jsonl"
cmp -s "$dir/begun.jsonl" "$dir/kept" || fail "distill: a refused run changed the answers"
expect_status 0 "distill continues with other values" distill_up_to 7 --out "$dir/begun.jsonl" --change new_tokens
[ "$(wc -l <"$dir/begun.jsonl")" -eq 5 ] || fail "distill --change: not 5 lines"
{ head -n 1 "$dir/one.jsonl"; echo 'garbage {'; tail -n 4 "$dir/one.jsonl"; } >"$dir/garbage.jsonl"
cp "$dir/garbage.jsonl" "$dir/kept"
expect_status 1 "distill over a damaged line" distill --out "$dir/garbage.jsonl"
expect_text "not an output of distill .*garbage.jsonl:2: not valid JSON" err "distill over a damaged line"
cmp -s "$dir/garbage.jsonl" "$dir/kept" || fail "distill: a damaged file was changed"
printf '{"messages": [{"role": "user", "content": "other"}]}\n' >"$dir/asked.jsonl"
expect_status 1 "distill of other data" distill --out "$dir/one.jsonl"
expect_status 0 "distill starts over" distill --out "$dir/one.jsonl" --force
[ "$(wc -l <"$dir/one.jsonl")" -eq 1 ] || fail "distill --force: not 1 line"
expect_status 2 "distill with no batch" distill --out "$dir/x" --batch 0
expect_status 0 "statistics on standard output" generate -p "hello" -n 8 --stats - -q
tail -n 1 "$dir/out" >"$dir/last.json"
[ "$(json "$dir/last.json" "s['new_tokens']")" = 8 ] || fail "--stats - is not the last line"

# Verifiers write the same greedy text, and the statistics hold what each verifier guarantees.
for verifier in exact nucleus sequential chain tree typical; do
  expect_status 0 "$verifier, greedy" generate -p "hello hello hello" -n 40 --drafter pld \
    --verifier $verifier --check --stats "$dir/$verifier.json"
  [ "$(json "$dir/$verifier.json" "s['tokens']")" = "$(json "$dir/none.json" "s['tokens']")" ] ||
    fail "$verifier: other greedy tokens"
  [ "$(json "$dir/$verifier.json" "s['verifier']")" = $verifier ] || fail "$verifier: not in --stats"
  expect_status 0 "$verifier, sampled" generate -p "hello hello" -n 40 --drafter pld --temp 1 \
    --verifier $verifier --stats "$dir/$verifier.json"
  [ "$(json "$dir/$verifier.json" "s['new_tokens']")" = 40 ] || fail "$verifier: sampled"
done
[ "$(json "$dir/typical.json" "s['lossless']")" = False ] || fail "typical is not lossless"
expect_text "lossy" err "typical says so"
[ "$(json "$dir/tree.json" "s['lossless']")" = True ] || fail "tree is lossless"
expect_status 0 "nucleus --check" generate -p "hello hello" -n 40 --drafter pld --temp 1 \
  --verifier nucleus --verifier-opt top_p=0.6 --check
expect_status 2 "--check of a law" generate -p a --temp 1 --verifier tree --check
expect_status 1 "noise where draws are weighed" generate -p a --temp 1 --drafter pld --verifier tree \
  --draft-noise shared
expect_text "weighs the drafter's own draws" err "noise where draws are weighed"
expect_status 2 "unknown noise" generate -p a --draft-noise pink
expect_text "expected auto, shared or none" err "unknown noise"
expect_status 0 "noise by choice" generate -p a -n 4 --temp 1 --drafter draft-model --draft-model "$model" \
  --verifier sequential --draft-noise shared
expect_status 2 "unknown verifier" generate -p a --verifier hope
expect_text "sequential" err "unknown verifier lists the known"
expect_status 1 "unknown verifier option" generate -p a --verifier typical --verifier-opt epsilon=1
expect_text "epsilon" err "unknown verifier option"

# Attribution: the offsets of a span select the same characters in both texts, and a larger
# threshold gives fewer spans.
expect_status 0 "--attribute" generate -p "üü aaaaaaaaaaaaaaaaaaaa" -n 40 -q --drafter pld \
  --logit-bias 97:1000 --attribute "$dir/copies.json"
[ "$(json "$dir/copies.json" "len(s['spans']) > 0 and s['prompt'].startswith('üü a') and all( \
  s['text'][x['begin']:x['end']] == x['text'] == s['prompt'][x['source_begin']:x['source_end']] \
  and x['tokens'] >= 2 for x in s['spans'])")" = True ] ||
  fail "--attribute: $(cat "$dir/copies.json")"
expect_status 0 "--attribute on standard output" generate -p "hello hello hello" -n 40 -q \
  --drafter pld --attribute - --attribute-min 1000
tail -n 1 "$dir/out" >"$dir/last.json"
[ "$(json "$dir/last.json" "s['spans'] == [] and s['min_tokens'] == 1000")" = True ] ||
  fail "--attribute-min"
expect_status 2 "--attribute without a drafter" generate -p a --drafter none --attribute -
expect_status 0 "--attribute by default" generate -p "aaaaaaaaaaaaaaaaaaaa" -n 20 -q --logit-bias 97:1000 --attribute -
tail -n 1 "$dir/out" >"$dir/last.json"
[ "$(json "$dir/last.json" "len(s['spans']) > 0")" = True ] || fail "--attribute by default: $(cat "$dir/last.json")"

printf '%s\n' '{"turns": ["[1] A quick brown fox jumps over a lazy dog.\n\nQuestion: who?\nAnswer:"],
  "reference": ["It is [ 1 A quick brown fox jumps over a lazy dog ] ."]}' | tr -d '\n' >"$dir/quotes.jsonl"
expect_status 0 "bench attribution" "$bin" bench attribution -m "$model" -t 1 --drafter pld \
  --data "$dir/quotes.jsonl" --min 3,100 --json "$dir/attribution.json"
[ "$(json "$dir/attribution.json" "s['scores'][0]['precision'] > 0.8 and s['scores'][0]['recall'] > 0.5 \
  and s['scores'][1]['attributed'] == 0 and s['asked'] == 1 and s['skipped'] == 0")" = True ] ||
  fail "bench attribution: $(cat "$dir/attribution.json" "$dir/err")"
expect_text "1 questions asked, 0 skipped" out "bench attribution says what it asked"
# Questions come evenly from the file: the first of four and the third.
for name in fox cat dog owl; do sed "s/fox/$name/g" "$dir/quotes.jsonl" | tr -d '\n'; echo; done >"$dir/four.jsonl"
sed -n '1p;3p' "$dir/four.jsonl" >"$dir/two.jsonl"
for data in four two; do
  expect_status 0 "bench attribution of $data" "$bin" bench attribution -m "$model" -t 1 --drafter pld \
    --data "$dir/$data.jsonl" --limit 2 --json "$dir/$data.json"
done
[ "$(json "$dir/four.json" "s['scores']")" = "$(json "$dir/two.json" "s['scores']")" ] ||
  fail "bench attribution --limit: $(cat "$dir/four.json" "$dir/two.json")"
printf '{"turns": []}\n' >"$dir/quotes.jsonl"
expect_status 1 "bench attribution of other data" "$bin" bench attribution -m "$model" \
  --data "$dir/quotes.jsonl"
expect_text "quotes.jsonl:1: expected turns and reference" err "bench attribution of other data"

printf 'The quick brown fox jumps over the lazy dog, and over again. %.0s' 1 2 3 4 5 >"$dir/fidelity.txt"
expect_status 0 "bench fidelity of a model beside itself" "$bin" bench fidelity -m "$model" -t 1 \
  --reference "$model" --data "$dir/fidelity.txt" --window 16 --json "$dir/fidelity.json"
[ "$(json "$dir/fidelity.json" "s['kl_divergence'] == 0 and s['same_top'] == 1 and s['positions'] >= 15 \
  and s['nll'] == s['reference_nll'] > 0")" = True ] || fail "bench fidelity: $(cat "$dir/fidelity.json")"
expect_status 0 "fewer bits for bench fidelity" "$bin" quantize "$model" -o "$dir/fewer.gguf" --type Q4_0 --force -q
expect_status 0 "bench fidelity of fewer bits" "$bin" bench fidelity -m "$dir/fewer.gguf" -t 1 \
  --reference "$model" --data "$dir/fidelity.txt" --window 16 --positions 20 --json "$dir/fidelity.json"
[ "$(json "$dir/fidelity.json" "0 < s['kl_divergence'] < 1 and s['positions'] == 20")" = True ] ||
  fail "bench fidelity of fewer bits: $(cat "$dir/fidelity.json")"
printf 'short' >"$dir/fidelity.txt"
expect_status 1 "bench fidelity of too little text" "$bin" bench fidelity -m "$model" -t 1 \
  --reference "$model" --data "$dir/fidelity.txt"
expect_text "expected at least one window of 256 tokens, found [0-9]*" err "bench fidelity of too little text"

# Options that change how a text is computed do not change the text.
expect_status 0 "two threads" "$bin" generate -m "$model" -t 2 --ignore-eos -p "hello hello hello" \
  -n 24 -q
cmp -s "$dir/out" "$dir/plain" || fail "two threads write another text"
expect_status 0 "long drafts" generate -p "hello hello hello" -n 24 -q --drafter pld+h \
  --draft-opt k=70 --draft-max 70
cmp -s "$dir/out" "$dir/plain" || fail "long drafts write another text"
printf '0\n1\n0,0\n' >"$dir/tree.txt"
for tree in chain:gamma=3 medusa "static:file=$dir/tree.txt" eagle2 pct:expand=0.1; do
  expect_status 0 "$tree" generate -p "hello hello hello" -n 24 --drafter pld --tree "$tree" --check
done
rm -rf "$dir/cache"
for tree in auto pct; do
  expect_status 0 "$tree" generate -p "hello hello hello" -n 40 --drafter pld+h --tree "$tree" --check
  ls "$dir/cache/foretoken"/costs-*.json >/dev/null || fail "$tree keeps no measured costs"
done
# By default trees are sized by measured costs, unless that could change the text.
rm -rf "$dir/cache"
expect_status 0 "a tree that costs cannot change" generate -p "hello" -n 8 --drafter pld --temp 1 --verifier chain
[ -e "$dir/cache" ] && fail "costs were measured although a tree could change the text"
expect_status 0 "the default tree" generate -p "hello" -n 8 --drafter pld --check
ls "$dir/cache/foretoken"/costs-*.json >/dev/null || fail "the default tree does not weigh costs"
expect_status 0 "a given cost" generate -p "hello" -n 8 --drafter pld --tree pct:leaf=0 --pct-cost 0.1
expect_status 0 "a cost alone" generate -p "hello" -n 8 --drafter pld --pct-cost 0.1
expect_status 1 "a cost for another tree" generate -p "hello" -n 8 --tree eagle2 --pct-cost 0.1
expect_text "no option 'expand'" err "a cost for another tree"
expect_status 0 "joined drafters" generate -p "hello hello hello" -n 24 --drafter pld,pld+h \
  --draft-opt pld.k=4 --tree eagle2 --check
expect_status 0 "bench overhead" "$bin" bench overhead -m "$model" -t 1 --nodes 9 --context 30 \
  --drafters pld,pld+h --json "$dir/overhead.json"
[ "$(json "$dir/overhead.json" "0 < s['overhead'] < 1 and s['nodes'] == 9 and \
  [l['drafter'] for l in s['look_ups']] == ['pld', 'pld+h']")" = True ] ||
  fail "bench overhead: $(cat "$dir/overhead.json")"
expect_status 0 "bench profile" "$bin" bench profile -m "$model" -t 2 --isa portable --rows 1,3 --repeats 2 \
  --json "$dir/profile.json"
expect_text "cpu/portable, 2 threads" out "bench profile"
[ "$(json "$dir/profile.json" "[p['rows'] for p in s['passes']] == [1, 3] and \
  all(p['thread_seconds'][k] > 0 for p in s['passes'] for k in \
      ('waiting', 'other', 'attention', 'gate and up', 'down', 'rounding activations'))")" = True ] ||
  fail "bench profile: $(cat "$dir/profile.json")"
expect_status 0 "bench neighbours" "$bin" bench neighbours -m "$model" -t 2 --processes 2,3 \
  --seconds 0.05 --repeats 1 --json "$dir/neighbours.json"
expect_text "3 processes together" out "bench neighbours"
[ "$(json "$dir/neighbours.json" "[(n['processes'], n['busy_loops'], n['nice']) for n in s['scenarios']] \
  == [(1, 0, 0), (2, 0, 0), (3, 0, 0), (1, 1, 0), (1, 1, 19)] and s['scenarios'][0]['of_alone'] == 1 and \
  all(n['tokens_per_second'] > 0 for n in s['scenarios'])")" = True ] ||
  fail "bench neighbours: $(cat "$dir/neighbours.json")"
expect_status 1 "bench neighbours without a model" "$bin" bench neighbours -m "$dir/none.gguf"
expect_text "none.gguf" err "bench neighbours without a model"
expect_status 0 "bench batch" "$bin" bench batch -m "$model" -t 1 --drafter pld --sessions 1,3 -n 8 \
  --longest 60 --json "$dir/batch.json"
[ "$(json "$dir/batch.json" "[(p['sessions'], p['together'], p['drafter']) for p in s['points']] == \
  [(1, 1, 'none'), (1, 1, 'pld'), (3, 1, 'none'), (3, 1, 'pld'), (3, 3, 'none'), (3, 3, 'pld')] and \
  all(p['tokens_per_second'] > 0 and p['new_tokens'] == 8 * p['requests'] for p in s['points'])")" = True ] ||
  fail "bench batch: $(cat "$dir/batch.json")"
expect_status 0 "bench batch of shared prompts" "$bin" bench batch -m "$model" -t 1 --drafter pld \
  --sessions 2 -n 6 --shared-prefix 80 --requests 12 --sample 4 --json "$dir/shared.json"
[ "$(json "$dir/shared.json" "s['shared']['cached_tokens'] >= 80 * 9 and \
  s['shared']['prompt_rows'] == s['shared']['prompt_tokens'] - s['shared']['cached_tokens'] and \
  s['shared']['most_bytes'] <= s['shared']['budget_bytes']")" = True ] ||
  fail "bench batch of shared prompts: $(cat "$dir/shared.json")"
expect_status 0 "bench project" "$bin" bench project --shape tiny --type F32 -t 1 --tau 2.5 --nodes 9 \
  --levels 3 --level-rows 4 --repeats 2 --json "$dir/project.json"
[ "$(json "$dir/project.json" "s['projection'] and \
  abs(s['cycle_seconds'] - s['verify_seconds'] - 3 * s['level_seconds']) < 1e-9 and \
  abs(s['speedup'] * s['tau_even'] - 2.5) < 1e-6")" = True ] ||
  fail "bench project: $(cat "$dir/project.json")"
expect_text "projection, nothing was decoded" out "bench project"
expect_status 1 "bench project beyond its tree" "$bin" bench project --shape tiny --tau 9.5 --nodes 9
expect_text "a tree of 9 nodes, including the root, emits at most 9 tokens" err "bench project beyond its tree"
expect_status 1 "bench project of an unknown shape" "$bin" bench project --shape 7b --tau 3
expect_text "expected llama2-13b" err "bench project of an unknown shape"
expect_status 2 "an unknown drafter among joined ones" generate -p a --drafter pld,oracle
for type in f32 bf16; do
  expect_status 0 "$type cache" generate -p "hello" -n 24 --cache-type $type --drafter pld --check
done
expect_status 0 "chat" generate --chat --system "be brief" -p "hello" -n 8 --stats "$dir/chat.json"
[ "$(json "$dir/chat.json" "s['prompt_tokens'] > 40")" = True ] || fail "--chat applies no template"

# Ctrl-C ends the answer with its statistics and status 0. The slowest instruction set: on others the
# answer may have ended before the signal comes.
rm -f "$dir/out"
"$bin" generate -m "$model" -t 1 --isa portable --ignore-eos -p "hello" -n -1 --temp 1 >"$dir/out" 2>"$dir/err" &
pid=$!
while [ ! -s "$dir/out" ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid 2>/dev/null
wait $pid || fail "Ctrl-C: status $?"
expect_text "interrupted" err "Ctrl-C prints the statistics"

# Chat through a pipe: two turns, commands, end of input.
rm -f "$dir/talk.txt"
printf 'hello\n/stats\n/clear\nhello\n/help\n/drafter\n/drafter none\nhello\n/drafter hass\n/save %s\n/save %s\n/quit\n' \
  "$dir/talk.txt" "$dir/talk.txt" | "$bin" chat -m "$model" -t 1 -n 8 >"$dir/out" 2>"$dir/err" || fail "chat: status $?"
expect_text "/clear" out "chat /help"
expect_text "^drafter: auto$" out "chat speculates"
expect_text "drafter auto; /help" err "chat says so"
expect_text "drafter hass: found no draft of method 'hass' made for this model in" err "chat /drafter without a draft"
grep -q "exists already" "$dir/err" && fail "chat: /save does not save again"
printf '/save %s\n' "$dir/talk.txt" | "$bin" chat -m "$model" -t 1 >"$dir/out" 2>"$dir/err"
expect_text "talk.txt: exists already; name another file" err "chat /save over a file of another conversation"
printf 'hello\n' | "$bin" chat -m "$model" -t 1 -n 8 >"$dir/out" 2>&1 || fail "chat ends with its input"
rm -f "$dir/lines.json"
printf '"""\nfirst\n\n/quit"""\none \\\ntwo\n/usr/bin is a path\n/save %s\n/forget 9\n"""open\n' "$dir/lines.json" |
  "$bin" chat -m "$model" -t 1 -n 8 >"$dir/out" 2>"$dir/err" || fail "chat of several lines: status $?"
[ "$(json "$dir/lines.json" "[m['content'] for m in s['messages']][::2] == ['first\n\n/quit', 'one \ntwo', '/usr/bin is a path']")" \
  = True ] || fail "chat of several lines: $(cat "$dir/lines.json")"
expect_text "found '9', the conversation has 3 exchanges" err "chat /forget"
printf 'hello\n/load %s\n/save %s\n' "$dir/lines.json" "$dir/loaded.json" >"$dir/loading"
rm -f "$dir/loaded.json"
"$bin" chat -m "$model" -t 1 -n 8 <"$dir/loading" >"$dir/out" 2>"$dir/err" || fail "chat /load through a pipe: status $?"
cmp -s "$dir/lines.json" "$dir/loaded.json" || fail "chat /load through a pipe asks: $(cat "$dir/err")"
printf 'hello\n%0600d\nhello\n' 0 | "$bin" chat -m "$model" -t 1 -n 8 -c 300 >"$dir/out" 2>"$dir/err" ||
  fail "chat in a full context: status $?"
expect_text "the message is too long: the prompt with this message alone has" err "chat in a full context"
expect_status 2 "chat without a model" "$bin" chat

# The demo and the search for heads, on the same small model.
expect_status 0 "demo" "$bin" demo -m "$model" -t 1 -n 12 --json "$dir/demo.json"
[ "$(json "$dir/demo.json" "s['identical'] and [r['drafter'] for r in s['runs']] == 4 * ['none', 'pld', 'auto'] \
  and all(r['times'] > 1 and r['tokens_per_second'] > 0 for r in s['runs'])")" = True ] || fail "demo --json: $(cat "$dir/out")"
expect_text "tokens a pass" out "demo shows a table"
expect_text "^auto: [0-9.]* times as fast as autoregressive decoding over these 4 tasks, with the same tokens.$" out "demo says what it found"
expect_text "foretoken chat -m .*$(basename "$model")$" out "demo says what to type"
expect_status 0 "demo --all" "$bin" demo -m "$model" -t 1 -n 6 --seconds 1 --all --json "$dir/demo.json"
[ "$(json "$dir/demo.json" "s['identical'] and len(s['runs']) >= 20")" = True ] || fail "demo --all"
# Among the models near the program, demo prefers SmolLM2, here another model under that name, to
# the shipped one.
mkdir -p "$dir/place/bin" "$dir/place/models/drafts"
cp "$bin" "$dir/place/bin/foretoken"
cp "$model" "$dir/place/models/a.gguf"
expect_status 0 "demo of what is shipped" "$dir/place/bin/foretoken" demo -t 1 -n 2 --seconds 1
expect_text "models/a.gguf, loaded" out "demo of what is shipped"
cp "$model" "$dir/place/models/smollm2-135m-instruct-q4_1.gguf"
expect_status 0 "demo of SmolLM2" "$dir/place/bin/foretoken" demo -t 1 -n 2 --seconds 1
expect_text "models/smollm2-135m-instruct-q4_1.gguf, loaded" out "demo of SmolLM2"
rm -rf "$dir/place" "$dir/own" "$dir/misplaced"
cat >"$dir/questions.jsonl" <<'EOF'
{"question_id": 81, "category": "writing", "turns": ["hello hello hello", "and again"]}
{"question_id": "x", "category": "qa", "turns": ["one two one two"]}

{"question_id": 83, "category": "roleplay", "turns": ["who are you"], "reference": "nobody"}
EOF
rm -rf "$dir/answers"
expect_status 0 "bench spec" "$bin" bench spec -m "$model" -t 1 --questions "$dir/questions.jsonl" -n 20 \
  --methods pld,pld+h/lookahead,draft-model --draft-model "$model" --draft-opt pld.k=4 --tree chain \
  --tree "vct:width=2,depth=2" --temp 0,0.8 --warm-up 1 --json "$dir/spec.json" --html "$dir/spec.html" \
  --answers "$dir/answers" --time 10
expect_text "| overall | 3 |" out "bench spec prints a table"
expect_text "^| mt_bench | 2 |" out "bench spec prints a row for a task"
expect_text "^| qa | 1 |" out "bench spec prints a row for a category"
grep -q "of passes, because" "$dir/out" && fail "bench spec says why trees of fixed size drafted little: $(cat "$dir/out")"
[ "$(json "$dir/spec.json" "len(s['results']) == 14 * (1 + 2 + 2) \
  and [r['task'] for r in s['results'][:15]] == ['overall'] * 14 + ['mt_bench'] \
  and all(r['identical'] and r['speedup_low'] <= r['speedup'] <= r['speedup_high'] for r in s['results']) \
  and all(r['speedup'] == 1 for r in s['results'] if r['method'] == 'none') \
  and s['results'][0]['tokens'] == 80 and s['results'][0]['tau_micro'] == 1 \
  and all(k in r for r in s['results'] for k in ['tau_macro', 'alpha_edd', 'gen_only', 'speedup_micro']) \
  and [r['tau_micro'] > 1 for r in s['results'][:7]] == [False] + [True] * 6 \
  and s['answered'] == 3 and not s['interrupted']")" = True ] || fail "bench spec --json: $(cat "$dir/out")"
python3 - "$dir/spec.html" <<'EOF' || fail "bench spec --html"
import re, sys
import xml.etree.ElementTree as xml
page = open(sys.argv[1], encoding='utf-8').read()
pictures = re.findall(r'<svg.*?</svg>', page, re.S)
assert len(pictures) == 7, len(pictures)
texts = [''.join(xml.fromstring(p).itertext()) for p in pictures]
assert all('nan' not in p and 'inf' not in p for p in pictures)
assert 'pld+h/lookahead' in page or 'pld+h,lookahead' in page
assert 'baseline' in texts[0] and 'ECE' in texts[2] and 'verifying' in texts[4]
assert page.count('<pre>') == 12
EOF
[ "$(head -n 1 "$dir/answers/5-draft-model.jsonl" | python3 -c "import json,sys; s=json.load(sys.stdin); \
c=s['choices'][0]; print(s['question_id'] == 81 and len(c['turns']) == 2 and c['new_tokens'] == [20, 20] \
and sum(c['accept_lengths']) == 38 and sum(c['decoding_steps']) == len(c['accept_lengths']))")" = True ] ||
  fail "bench spec --answers"
resumed() { "$bin" bench spec -m "$model" -t 1 --questions "$dir/questions.jsonl" --methods pld --warm-up 0 \
  --resume "$dir/journal.jsonl" "$@"; }
rm -f "$dir/journal.jsonl"
expect_status 0 "bench spec that ends early" resumed -n 20 --time 0.00001
[ "$(wc -l <"$dir/journal.jsonl")" = 2 ] || fail "bench spec --resume keeps what is answered"
cp "$dir/journal.jsonl" "$dir/begun.jsonl"
printf '{"question": 1, "id"' >>"$dir/journal.jsonl"  # cut off while it was written
expect_status 0 "bench spec goes on" resumed -n 20 --json "$dir/resumed.json"
[ "$(json "$dir/resumed.json" "s['answered'] == 3 and s['results'][0]['tokens'] == 80")" = True ] ||
  fail "bench spec --resume answers the rest"
[ "$(wc -l <"$dir/journal.jsonl")" = 4 ] && head -n 2 "$dir/journal.jsonl" | cmp -s - "$dir/begun.jsonl" ||
  fail "bench spec --resume asks nothing twice"
# Reading a journal checks the counts, tokens and sizes of lists that reports rely on.
cp "$dir/journal.jsonl" "$dir/whole.jsonl"
for change in 's/"turn_cycles":\[/&9,/' 's/"turns":\[\[/&999999,/' 's/"turns":\[\[/&-1,/' 's/"question":0/"question":2e30/' \
  's/"cycles":\[\[0/"cycles":[[-7/' 's/"texts":\[/&"more",/' 's/"id"/"name"/'; do
  sed "2$change" "$dir/whole.jsonl" >"$dir/journal.jsonl"
  cp "$dir/journal.jsonl" "$dir/kept"
  expect_status 1 "bench spec goes on from a journal with $change" resumed -n 20 --html "$dir/spec.html"
  expect_text "journal.jsonl:2: not the answers to a question" err "a journal with $change"
  cmp -s "$dir/journal.jsonl" "$dir/kept" || fail "a journal with $change was changed"
done
cp "$dir/whole.jsonl" "$dir/journal.jsonl"
twice() { "$bin" bench spec -m "$model" -t 1 --questions "$dir/questions.jsonl" --methods pld --warm-up 0 -n 20 \
  --repeats 2 --resume "$dir/passes.jsonl" --json "$dir/passes.json"; }
rm -f "$dir/passes.jsonl"
expect_status 0 "bench spec in two passes" twice
places() { sed 1d "$dir/passes.jsonl" | python3 -c "import json,sys; print([json.loads(l)['question'] for l in sys.stdin])"; }
[ "$(places)" = "[0, 1, 2, 3, 4, 5]" ] || fail "bench spec --repeats asks all questions before the second pass: $(places)"
[ "$(json "$dir/passes.json" "s['repeats'] == 2 and s['answered'] == 3 and s['results'][1]['identical'] \
  and s['results'][1]['tokens'] == 80")" = True ] || fail "bench spec --repeats: $(cat "$dir/out")"
python3 - "$dir/passes.jsonl" <<'EOT' # as if plain decoding had taken twice as long in the second pass
import json, sys
lines = open(sys.argv[1]).read().splitlines()
for i in range(1, 7):
    kept = json.loads(lines[i])
    for m, answer in enumerate(kept['answers']):
        answer['prefill'] = [0.0] * len(answer['turns'])
        answer['seconds'] = [1.0 if m or i < 4 else 2.0] * len(answer['turns'])
    lines[i] = json.dumps(kept)
open(sys.argv[1], 'w').write('\n'.join(lines) + '\n')
EOT
expect_status 0 "bench spec of kept passes" twice
[ "$(json "$dir/passes.json" "[s['results'][1][k] for k in ('speedup', 'speedup_low', 'speedup_high')] \
  + [s['results'][1]['gen_only']['speedup']]")" = "[1.5, 1.0, 2.0, 1.5]" ] ||
  fail "bench spec --repeats: intervals count how passes differ: $(cat "$dir/passes.json")"
sed -i '$s/"turns":\[\[[0-9]*/"turns":[[96/; $s/"turns": \[\[[0-9]*/"turns": [[96/' "$dir/passes.jsonl"
expect_status 3 "bench spec with another text in the second pass" twice
[ "$(json "$dir/passes.json" "s['results'][0]['identical']")" = False ] || fail "bench spec --repeats compares every pass's text"
expect_status 1 "bench spec resumed with another length" resumed -n 21
expect_text "new_tokens is 20, expected 21" err "bench spec resumed with another length"
printf '{"question": 0}\n' >>"$dir/journal.jsonl"
expect_status 1 "bench spec with a broken journal" resumed -n 20
expect_text "journal.jsonl:5: not the answers" err "bench spec with a broken journal"
cp "$dir/journal.jsonl" "$dir/kept"
{ head -n 2 "$dir/kept"; printf '\001\002 garbage\n'; tail -n 3 "$dir/kept"; } >"$dir/journal.jsonl"
cp "$dir/journal.jsonl" "$dir/kept"
expect_status 1 "bench spec with garbage in its journal" resumed -n 20
expect_text "journal.jsonl:3: not valid JSON" err "bench spec with garbage in its journal"
cmp -s "$dir/journal.jsonl" "$dir/kept" || fail "bench spec: a damaged journal was changed"
sed '2s/"turn_cycles":\[[0-9]*/"turn_cycles":[99999/' "$dir/kept" | head -n 2 >"$dir/journal.jsonl"
expect_status 1 "bench spec with other counts in its journal" resumed -n 20
expect_text "journal.jsonl:2: not the answers to a question: turns, cycles" err "bench spec with other counts in its journal"
printf 'notes without a line break' >"$dir/journal.jsonl"
cp "$dir/journal.jsonl" "$dir/kept"
expect_status 1 "bench spec over notes" resumed -n 20
expect_text "journal.jsonl: is not a journal of bench spec" err "bench spec over notes"
cmp -s "$dir/journal.jsonl" "$dir/kept" || fail "bench spec: notes were replaced by a journal"

rm -f "$dir/interrupted.json"
"$bin" bench spec -m "$model" -t 1 --questions "$dir/questions.jsonl" -n 600 --methods pld --warm-up 0 \
  --repeats 20 --json "$dir/interrupted.json" >"$dir/out" 2>"$dir/err" &
pid=$!
sleep 1
kill -INT $pid 2>/dev/null
wait $pid
case $? in # what was measured is written, if a question was answered by every method
  0) [ -s "$dir/interrupted.json" ] || fail "Ctrl-C in bench spec writes no results" ;;
  1) expect_text "no question was answered" err "Ctrl-C in bench spec" ;;
  *) fail "Ctrl-C in bench spec: $(cat "$dir/err")" ;;
esac
expect_status 1 "bench spec with an option of no method" "$bin" bench spec -m "$model" \
  --questions "$dir/questions.jsonl" --methods pld --draft-opt k=3
expect_text "no method takes 'k'" err "bench spec with an option of no method"
shipped=$(dirname "$0")/../../models
expect_status 0 "inspect of a model" "$bin" inspect "$shipped/foretoken-demo-24m-q8_0.gguf"
expect_text "7 layers, hidden 512" out "inspect of a model"
expect_status 0 "inspect of a draft" "$bin" inspect "$shipped/drafts/foretoken-demo-24m-hass-q8_0.gguf"
expect_text "hass, foretoken-demo-24m-hass" out "inspect of a draft"
expect_text "hidden states \[7\]" out "inspect of a draft says what it reads"
expect_text "used by *--drafter hass or auto" out "inspect of a draft says what takes it"
expect_status 0 "inspect --json of a draft" "$bin" inspect --json --tensors \
  "$shipped/drafts/foretoken-demo-24m-glide-q4_0.gguf"
[ "$(json "$dir/out" "(s['draft']['kv_layers_read'], len(s['tensors']))")" = "([6], 14)" ] ||
  fail "inspect --json of a draft"
# A draft for other servers.
served="$dir/served"
rm -rf "$served"
export_draft() {
  "$bin" export-draft "$shipped/drafts/foretoken-demo-24m-hass-q8_0.gguf" -m "$shipped/foretoken-demo-24m-q8_0.gguf" "$@"
}
expect_status 1 "export-draft for vllm" export_draft -o "$served" --layout vllm
expect_text "tensor 'fc.bias' is not zero, and vLLM's EAGLE has no bias in fc" err "export-draft for vllm"
[ ! -e "$served/config.json" ] || fail "export-draft for vllm writes a directory that vLLM refuses"
expect_status 0 "export-draft for sglang" export_draft -o "$served" --layout sglang
[ -s "$served/model.safetensors" ] || fail "export-draft for sglang writes no tensors"
[ "$(json "$served/config.json" "(s['architectures'], s['hidden_size'], s['torch_dtype'], s['bias'])")" = \
  "(['LlamaForCausalLMEagle'], 512, 'bfloat16', True)" ] || fail "export-draft: $(cat "$served/config.json")"
for name in config.json model.safetensors; do
  rm -f "$served"/*
  echo kept >"$served/$name"
  expect_status 1 "export-draft over $name" export_draft -o "$served" --layout sglang
  expect_text "$name: exists already; --force replaces it" err "export-draft over $name"
  [ "$(cat "$served"/*)" = kept ] || fail "export-draft writes in a folder that holds $name"
done
expect_status 0 "export-draft --force" export_draft -o "$served" --layout sglang --type f16 --force
[ "$(json "$served/config.json" "s['torch_dtype']")" = float16 ] || fail "export-draft --type f16"
expect_status 2 "export-draft to nobody" export_draft -o "$served" --layout ollama
expect_status 0 "export-draft --help" "$bin" export-draft --help
expect_text "bf16 (default)" out "export-draft --help"
# Incomplete models: every command names the fault, none writes a file, and inspect shows what can
# be read.
python3 - "$model" "$dir" <<'PYTHON'
import struct, sys
data, folder = open(sys.argv[1], "rb").read(), sys.argv[2]
def entry(key, kind, value):
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + value
def write(name, bytes_):
    open(f"{folder}/{name}.gguf", "wb").write(bytes_)
def with_count(count):
    at = data.index(b"llama.block_count") + len(b"llama.block_count") + 4
    return data[:at] + struct.pack("<I", count) + data[at + 4:]
write("fewer", with_count(2))
write("more", with_count(4))
split = entry(b"split.no", 4, struct.pack("<I", 0)) + entry(b"split.count", 4, struct.pack("<I", 2))
filler = 96 - len(split) - len(entry(b"f", 8, struct.pack("<Q", 0)))  # data stay aligned
split += entry(b"f", 8, struct.pack("<Q", filler) + b" " * filler)
tensors, entries = struct.unpack("<QQ", data[8:24])
write("shard", data[:8] + struct.pack("<QQ", tensors, entries + 3) + split + data[24:])
write("lacking", data.replace(b"blk.1.ffn_up.weight", b"blk.1.ffn_op.weight"))
old, refused = b"'<|im_start|>' + m['role']", b"raise_exception('no tool')"
assert len(old) == len(refused) and old in data
write("refusing", data.replace(old, refused))
PYTHON
for broken in "shard is shard 1 of 2" "fewer tensor 'blk.2.*' belongs to layer 2, but block_count is 2" \
  "more tensor 'blk.3.attn_norm.weight' is missing" "lacking tensor 'blk.1.ffn_up.weight' is missing"; do
  name=${broken%% *} says=${broken#* }
  for command in "generate -m $dir/$name.gguf -p a" "quantize $dir/$name.gguf -o $dir/whole.gguf --type Q8_0 -q" \
    "tokenize -m $dir/$name.gguf" "count-ngrams -m $dir/$name.gguf --data $0 --out $dir/whole.gguf" \
    "inspect $dir/$name.gguf" "inspect $dir/$name.gguf --json"; do
    # shellcheck disable=SC2086
    expect_status 1 "${command%% *} of $name" "$bin" $command
    expect_text "$dir/$name.gguf: $says" err "${command%% *} of $name"
    [ ! -e "$dir/whole.gguf" ] || fail "$command writes a file"
  done
  expect_text "tensors\|\"fault\"" out "inspect of $name shows what there is"
done
[ "$(json "$dir/out" "(s['config']['layers'], s['memory']['weights_by_type']['F32']['tensors'])")" = "(3, 30)" ] ||
  fail "inspect --json of a model that lacks a tensor: $(head -c 400 "$dir/out")"

# Documents that the chat template refuses or that cannot be read are left out and counted, with the
# reason.
printf '{"text": "hello"}\n{"messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]}\n' >"$dir/odd.jsonl"
corpus_of() { "$bin" "$1" -m "$2" -t 1 -q --data "$dir/odd.jsonl" --out "$dir/odd.out" --force; }
for command in build-datastore count-ngrams; do
  expect_status 0 "$command of a template that refuses" corpus_of $command "$dir/refusing.gguf"
  expect_text "1 of 2 documents are skipped because the chat template rejects them; the first, document 2: .*no tool" err "$command"
done
expect_status 0 "distill of a template that refuses" corpus_of distill "$dir/refusing.gguf"
expect_text "1 conversation is left out, as the chat template refuses it: conversation 1: .*no tool" err "distill"
expect_status 0 "distill of text parts" corpus_of distill "$model"
[ "$(json "$dir/odd.out" "s['messages'][0]['content']")" = hello ] || fail "distill of text parts: $(cat "$dir/odd.out")"
printf '{"messages": [{"role": "user", "content": 5}]}\n' >>"$dir/odd.jsonl"
for command in build-datastore count-ngrams distill; do
  expect_status 0 "$command of an odd line" corpus_of $command "$model"
  expect_text "odd.jsonl: 1 of 3 lines .*odd.jsonl:3: messages\[0\].content is 5, expected text or a list" err "$command"
done
printf '{"messages": [{"role": "user", "content": null}]}\n' >"$dir/odd.jsonl"
for command in build-datastore count-ngrams distill; do
  expect_status 1 "$command of odd lines alone" corpus_of $command "$model"
  expect_text "odd.jsonl:1: messages\[0\].content is null" err "$command of odd lines alone"
done
papers=$(dirname "$0")/../../bench/papers
expect_status 0 "make_drafts.py" python3 "$papers/make_drafts.py" --foretoken "$bin" --list \
  "$shipped/foretoken-demo-24m-q8_0.gguf" --data some --tables edd-fig5,hass-10 --steps 600
expect_text "--layer 7 .*--steps 600" err "make_drafts.py trains one for each layer"
expect_text "eagle-1of8 .*--steps 75 " err "make_drafts.py gives a share its share of steps"
expect_text "15 drafts, 14 of them" err "make_drafts.py leaves what is there alone"
expect_status 0 "make_drafts.py of drafts that begin with another" python3 "$papers/make_drafts.py" --foretoken "$bin" \
  --list "$shipped/foretoken-demo-24m-q8_0.gguf" --data some --tables hass-5 --steps 600 --runs "$dir/runs"
expect_text "^.1/5. .*train eagle .*--steps 600" err "make_drafts.py trains first what others begin with"
expect_text "^.2/5. .*--init $dir/runs/eagle.*--steps 50 " err "make_drafts.py begins with its run"
drafts=$(dirname "$0")/../parity/draft
expect_status 0 "inspect of published drafts" "$bin" inspect "$drafts/eagle3"
expect_text "draft  *eagle3" out "inspect of a published draft"
expect_status 0 "inspect of published heads" "$bin" inspect --json "$drafts/medusa"
expect_status 1 "inspect of a directory without a model" "$bin" inspect "$dir"
expect_text "config.json" err "inspect of a directory without a model"
expect_status 1 "bench spec with a file for no method" "$bin" bench spec -m "$model" \
  --questions "$dir/questions.jsonl" --methods pld --datastore "$dir/some.datastore"
expect_text "--datastore: none of --methods has this option; for example, rest has" err \
  "bench spec with a file for no method"
expect_status 1 "bench spec of auto with a draft for another model" "$bin" bench spec -m "$model" \
  --questions "$dir/questions.jsonl" --methods auto --draft "$shipped/drafts/foretoken-demo-24m-hass-q8_0.gguf"
expect_text "foretoken-demo-24m-hass-q8_0.gguf" err "bench spec gives auto the draft that is named"
expect_status 0 "bench spec with one tree under two names" "$bin" bench spec -m "$model" -n 4 \
  --questions "$dir/questions.jsonl" --methods pld --tree chain --tree paper --json "$dir/once.json"
[ "$(json "$dir/once.json" "[r['tree'] for r in s['results'] if r['task'] == 'overall' and r['method'] == 'pld']")" = "['chain']" ] ||
  fail "bench spec measures one tree under two names once"
expect_status 0 "bench spec of nucleus" "$bin" bench spec -m "$model" -n 20 --temp 1 \
  --questions "$dir/questions.jsonl" --methods pld --verifier nucleus --json "$dir/nucleus.json"
[ "$(json "$dir/nucleus.json" "[(r['verifier'], r['identical']) for r in s['results'] if r['task'] == 'overall']")" = "[('nucleus', True), ('nucleus', True)]" ] ||
  fail "bench spec compares a verifier with what it writes without drafts"
held() { "$bin" bench spec -m "$model" -t 1 -n 40 --questions "$dir/questions.jsonl" --methods pld,draft-model \
  --draft-opt "draft_model=$model" --costs "$dir/held.json" --json "$1"; }
rm -f "$dir/held.json"
expect_status 0 "bench spec writes costs" held "$dir/held1.json"
cp "$dir/held.json" "$dir/held_once.json"
expect_status 0 "bench spec holds costs" held "$dir/held2.json"
cmp -s "$dir/held.json" "$dir/held_once.json" || fail "bench spec --costs changes the file"
figures="[(r['task'], r['method'], r['tau_micro'], r['tau_macro'], r['alpha_tok'], r['nodes_per_cycle']) for r in s['results']]"
[ "$(json "$dir/held1.json" "$figures")" = "$(json "$dir/held2.json" "$figures")" ] ||
  fail "bench spec --costs: another run drafts otherwise"
echo '{}' >"$dir/held.json"
expect_status 1 "bench spec with costs that are none" held "$dir/held2.json"
expect_text "held.json: " err "bench spec with costs that are none"
expect_status 1 "bench spec with an unknown method" "$bin" bench spec -m "$model" \
  --questions "$dir/questions.jsonl" --methods guesswork
for option in --json --html --resume --costs; do
  expect_status 2 "bench spec $option nowhere" "$bin" bench spec -m "$model" \
    --questions "$dir/questions.jsonl" --methods pld "$option" "$dir/nowhere/file"
  expect_text "$option: $dir/nowhere/file: cannot write into $dir/nowhere/" err "bench spec $option nowhere"
done
expect_status 1 "bench spec --answers in a file" "$bin" bench spec -m "$model" \
  --questions "$dir/questions.jsonl" --methods pld --answers "$dir/questions.jsonl"
expect_text "questions.jsonl: " err "bench spec --answers in a file"
expect_status 0 "bench spec --json /dev/stdout" "$bin" bench spec -m "$model" -t 1 -q --limit 1 -n 4 \
  --questions "$dir/questions.jsonl" --methods pld --json /dev/stdout
expect_text '"results"' out "bench spec --json /dev/stdout"
expect_text "| overall | 1 |" out "bench spec --json /dev/stdout leaves the table"
grep -q -e "^| mt_bench" -e "^| writing" "$dir/out" && fail "bench spec repeats the overall row: $(cat "$dir/out")"
[ "$(grep -c '"task": *"writing"' "$dir/out")" = 2 ] || fail "bench spec --json leaves out a category: $(cat "$dir/out")"
# No sequence of 64 tokens occurs twice.
expect_status 0 "bench spec of a drafter without guesses" "$bin" bench spec -m "$model" -t 1 -q -n 20 \
  --questions "$dir/questions.jsonl" --methods pld --draft-opt pld.max_ngram=64 --draft-opt pld.min_ngram=64
expect_text "^pld / auto / exact / T=0: drafted in 0 % of passes, because it had no guess or its guesses were expected to cost" out \
  "bench spec of a drafter without guesses says why"
printf '{"question_id": 1}\n' >"$dir/bad.jsonl"
expect_status 1 "bench spec with a bad question" "$bin" bench spec -m "$model" \
  --questions "$dir/bad.jsonl" --methods pld
expect_text "bad.jsonl:1: category" err "bench spec with a bad question"
printf 'Summarise: hello hello hello\n\nSummarise: one two one two\n' >"$dir/prompts.txt"
expect_status 1 "find-heads into a folder" "$bin" find-heads -m "$model" -o "$dir"
expect_text "$dir: is a folder; a file is expected" err "find-heads into a folder"
echo kept >"$dir/heads.json"
expect_status 1 "find-heads over a file" "$bin" find-heads -m "$model" -t 1 -o "$dir/heads.json"
expect_text "heads.json: exists already; --force replaces it" err "find-heads over a file"
expect_status 0 "find-heads" "$bin" find-heads -m "$model" -t 1 -o "$dir/heads.json" \
  --prompts "$dir/prompts.txt" -n 16 --domain occurrences --force
[ "$(json "$dir/heads.json" "len(s['heads']) > 0")" = True ] || fail "find-heads writes no heads"
expect_status 0 "pld+a without heads" generate -p a -n 2 -q --drafter pld+a
expect_text "uses every attention head" err "pld+a without heads"
expect_text "find-heads -m $model" err "pld+a without heads names find-heads"
expect_status 0 "heads for pld+a" generate -p "hello hello hello" -n 24 -q --drafter pld+a \
  --draft-opt "heads=$dir/heads.json"
cmp -s "$dir/out" "$dir/plain" || fail "pld+a with heads writes another text"
[ -s "$dir/err" ] && fail "pld+a with heads complains: $(cat "$dir/err")"

# The papers' tables: listed, printed, and run where a model has what they need.
expect_status 0 "bench paper lists" "$bin" bench paper
[ "$(grep -c -e '^\(glide\|edd\|chimera\|hass\|pld\)-.* \(Table\|Figure\) [0-9]' "$dir/out")" = 43 ] || fail "bench paper: not 43 names"
expect_text "^hass-align2 .*train hass --recipe recipes/hass.json --init runs/eagle .*--passes 2" out "bench paper says how drafts are made"
expect_status 0 "bench paper lists for a model" "$bin" bench paper -m "$model" --draft "hass=$model"
expect_text "^pld-6  *complete" out "bench paper knows what can be run"
expect_text "^edd-1  *no method .*lacks vdm, medusa, eagle, edd" out "bench paper knows what cannot"
expect_status 1 "an unknown table" "$bin" bench paper pld-99
expect_text "no table 'pld-99'; known: chimera-2" err "an unknown table"
expect_status 1 "a table without a model" "$bin" bench paper pld-1
expect_text "needs -m MODEL and --questions FOLDER" err "a table without a model"
expect_status 1 "a table that lacks all drafts" "$bin" bench paper edd-1 -m "$model" --questions "$dir"
expect_text "EDD needs a file, --draft edd=FILE: foretoken train edd --recipe recipes/edd.json --target $model" \
  err "a table that lacks all drafts"
expect_status 1 "a draft of no table" "$bin" bench paper -m "$model" --draft oracle=x
expect_text "found 'oracle', expected one of draft-model" err "a draft of no table"
expect_status 0 "what a paper printed" "$bin" bench paper glide-1 --printed
expect_text "| Vicuna-7B, printed | GLIDE-47m | 6.7 | 64.8† | 1.97† |" out "what a paper printed"
expect_text "γ = 5, lies within 0.009" out "what a paper printed is what the formula gives"
mkdir -p "$dir/folder"
cp "$dir/questions.jsonl" "$dir/folder/chat.jsonl"
cat >"$dir/small.json" <<'EOF'
{"title": "a small one", "source": "Table 0", "differs": "all of it", "new_tokens": 20, "turns": 1,
 "settings": [{"name": "T=0"}, {"name": "T=1", "temperature": 1}],
 "rows": ["method"], "columns": ["setting", "part", "metric"],
 "parts": [{"name": "Talk", "questions": "chat.jsonl", "category": "mt_bench"},
           {"name": "QA", "questions": "chat.jsonl", "category": "qa"},
           {"name": "Absent", "questions": "none.jsonl"}, {"name": "Mean", "mean": true}],
 "metrics": ["speedup_micro", "tau_macro", "alpha_n:0"],
 "methods": [{"name": "Plain", "drafter": "none"},
             {"name": "K=$K", "drafter": "pld", "options": {"k": "$K"}, "for": {"K": [2, 4]}},
             {"name": "Twin", "drafter": "draft-model", "draft": "draft-model", "tree": "vct:width=2,depth=2"},
             {"name": "EDD", "drafter": "edd", "draft": "edd"}, {"name": "Wish", "drafter": "pld", "lacks": "it all"}],
 "printed": [{"model": "Big", "cells": {"K=2": "1x 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24"}}]}
EOF
paper() { "$bin" bench paper "$dir/small.json" -m "$model" -t 1 --questions "$dir/folder" --warm-up 0 -q \
  --draft "draft-model=$model" --resume "$dir/paper.jsonl" "$@"; }
rm -f "$dir/paper.jsonl"
expect_status 0 "bench paper" paper --json "$dir/paper.json"
expect_text "^# Table 0: a small one" out "bench paper prints a title"
expect_text "^    foretoken bench paper .*small.json -m" out "bench paper prints its command"
expect_text "| \*\*tiny\*\* | Plain | 1.00x \[1.00x, 1.00x\] | 1.00 |" out "bench paper prints ours"
expect_text "| Big, printed | K=2 | 1x | 2 |" out "bench paper prints the paper's"
expect_text "2 questions of chat.jsonl (mt_bench), 1 questions of chat.jsonl (qa)" out "bench paper says what it asked"
expect_text "Absent: none.jsonl is not in the folder of questions" out "bench paper says what it could not ask"
expect_text "Wish: it all" out "bench paper says what is lacking"
expect_text "EDD needs a file" out "bench paper says what draft is missing"
expect_text "token for token, that of the baseline" out "bench paper compares texts"
[ "$(json "$dir/paper.json" "len(s['cells']) == 4 * 2 * 3 * 3 and len(s['results']) == 4 * 2 * 2 \
  and all(c['low'] <= c['value'] <= c['high'] for c in s['cells'] if 'low' in c) \
  and [c['value'] for c in s['cells'] if c['row'] == ['Twin'] and c['metric'] == 'alpha_n'] == [1.0] * 6 \
  and s['printed'][0]['rows']['K=2'][5] == '6'")" = True ] || fail "bench paper --json: $(cat "$dir/out")"
cp "$dir/paper.jsonl" "$dir/paper_once.jsonl"
expect_status 0 "bench paper goes on" paper
cmp -s "$dir/paper.jsonl" "$dir/paper_once.jsonl" || fail "bench paper --resume asks again"
sed 's/"T=1", "temperature": 1/"three", "batch": 3/' "$dir/small.json" >"$dir/batch.json"
expect_status 0 "bench paper of batches" "$bin" bench paper "$dir/batch.json" -m "$model" -t 1 --questions "$dir/folder" \
  --warm-up 0 -q --draft "draft-model=$model" --json "$dir/batch_out.json"
[ "$(json "$dir/batch_out.json" "all(r['identical'] for r in s['results']) and all(
  c['value'] == o['value'] for c in s['cells'] for o in s['cells'] if c['metric'] != 'speedup_micro' and c['column'][0] == 'T=0'
  and o['row'] == c['row'] and o['metric'] == c['metric'] and o['column'] == ['three'] + c['column'][1:])")" = True ] ||
  fail "bench paper of batches: $(cat "$dir/out")"
sed 's/alpha_n:0/alpha_m/' "$dir/small.json" >"$dir/broken.json"
expect_status 1 "a broken table" "$bin" bench paper "$dir/broken.json"
expect_text "broken.json: metrics: found 'alpha_m'" err "a broken table"
printf '%s\n' '{"turns": ["[1] A quick brown fox jumps over a lazy dog.\n\nQuestion: who?\nAnswer:"],
  "reference": ["It is [ 1 A quick brown fox jumps over a lazy dog ] ."]}' | tr -d '\n' >"$dir/folder/quotesum_dev.jsonl"
expect_status 0 "bench paper of attributions" "$bin" bench paper pld-10 -m "$model" -t 1 --questions "$dir/folder" \
  --json "$dir/paper.json"
expect_text "quotesum_dev.jsonl: 1 questions asked, 0 skipped" out "bench paper of attributions"
[ "$(json "$dir/paper.json" "len(s['cells']) == 9 and s['cells'][0]['value'] > 0")" \
  = True ] || fail "bench paper of attributions: $(cat "$dir/out")"
cat >"$dir/ranks.json" <<'EOF'
{"title": "lists", "source": "Table 1", "differs": "all", "evaluator": "ranks", "new_tokens": 12,
 "rows": ["part", "method"], "columns": ["metric"],
 "parts": [{"name": "0", "questions": "chat.jsonl"},
           {"name": "1", "questions": "chat.jsonl", "metrics": ["head_top1:1", "head_top5:1"]}],
 "metrics": ["head_top1:0", "head_top5:0"],
 "methods": [{"name": "Twin", "drafter": "draft-model", "draft": "draft-model"}, {"name": "EDD", "drafter": "edd", "draft": "edd"}]}
EOF
ranks() { "$bin" bench paper "$dir/ranks.json" -m "$model" -t 1 --questions "$dir/folder" --warm-up 0 -q "$@"; }
expect_status 0 "bench paper of ranks" ranks --draft "draft-model=$model"
[ "$(grep -c "tiny.*| Twin | 1.00 | 1.00 |" "$dir/out")" = 2 ] || fail "bench paper of ranks: $(cat "$dir/out")"
expect_text "EDD needs a file" out "bench paper of ranks says what draft is missing"
expect_status 1 "bench paper of ranks without a draft" ranks
expect_text "none of its speculative methods can be run" err "bench paper of ranks without a draft"
sed 's/writing/summarization/' "$dir/questions.jsonl" >"$dir/folder/spec_bench.jsonl"
expect_status 0 "bench paper by layers" "$bin" bench paper pld-fig3 -m "$model" -t 1 --questions "$dir/folder" -n 8 \
  --limit 1 --warm-up 0 -q
expect_text "layer 1, sum" out "bench paper by layers"

# A tree with more nodes than a pass can score is refused, unless --draft-max limits it to its
# likeliest nodes.
expect_status 1 "generate with too large a tree" "$bin" generate -m "$model" -t 1 -p hello -n 4 --drafter pld --tree vct:width=8,depth=3
expect_text "tree vct:width=8,depth=3: has up to 584 nodes, but a pass scores at most 511" err "generate with too large a tree"
for tree in beam:beams=64,steps=8 cape:gamma=64; do
  expect_status 1 "generate with --tree $tree" generate -p hello -n 4 --drafter pld --tree $tree
  expect_text "tree $tree: has up to 512 nodes, but a pass scores at most 511" err "generate with --tree $tree"
  expect_status 0 "generate with a part of $tree" generate -p hello -n 4 --drafter pld --tree $tree --draft-max 511
done
expect_status 1 "generate with too large a --draft-max" "$bin" generate -m "$model" -t 1 -p hello -n 4 --drafter pld --draft-max 512
expect_text "draft-max: is 512 nodes, but a pass scores at most 511" err "generate with too large a --draft-max"
expect_status 0 "generate with a part of it" "$bin" generate -m "$model" -t 1 -p hello -n 4 --drafter pld \
  --tree vct:width=8,depth=3 --draft-max 64

# Other engines. A script that prints what llama.cpp prints takes its place.
mkdir -p "$dir/peers" "$dir/nothing"
cat >"$dir/peers/llama-cli" <<'EOF'
#!/bin/sh
echo "$@" >>"$0.log"
echo "the answer"
echo "llama_perf_context_print: prompt eval time =   10.00 ms /  5 tokens ( 2.00 ms per token,   500.00 tokens per second)" >&2
echo "llama_perf_context_print:        eval time =  100.00 ms / 20 runs   ( 5.00 ms per token,   200.00 tokens per second)" >&2
EOF
cat >"$dir/peers/llama-lookup" <<'EOF'
#!/bin/sh
echo "decoded   20 tokens in    0.050 seconds, speed:  400.000 t/s" >&2
EOF
cat >"$dir/peers/llama-speculative-simple" <<'EOF'
#!/bin/sh
case "$*" in *--spec-type*) echo "error: invalid argument: --spec-type" >&2; exit 1 ;; esac
echo "decoded   20 tokens in    0.100 seconds, speed:  300.000 t/s"
EOF
chmod +x "$dir/peers/llama-cli" "$dir/peers/llama-lookup" "$dir/peers/llama-speculative-simple"
rm -f "$dir/peers/llama-cli.log" "$dir/nothing/llama-cli"
peers() { "$bin" bench peers -m "$model" -t 1 --questions "$dir/questions.jsonl" -n 8 --warm-up 0 -q "$@"; }
expect_status 0 "bench peers" peers --peer-bin "$dir/peers" --draft-model "$model" --json "$dir/peers.json"
[ "$(json "$dir/peers.json" "[(r['engine'], r['mode']) for r in s['results']] == [(e, m) for m in ['plain', 'draft model', \
  'n-gram look-up'] for e in ['foretoken', 'other engine']] + [('foretoken', 'auto')] and all(r['answers'] == 3 for r in s['results']) \
  and [r['over_plain'] for r in s['results'] if r['engine'] == 'other engine'] == [1, 1.5, 2] \
  and [r['same_text'] for r in s['results']] == [3, 0, 3, 0, 3, 0, 3]")" = True ] ||
  fail "bench peers: $(cat "$dir/out" "$dir/err")"
expect_text "| other engine | n-gram look-up | 400.0 \[400.0, 400.0\] | 2.00x |" out "bench peers prints a table"
[ "$(grep -c -e "-no-cnv --no-display-prompt -m $model -f .*foretoken-prompt-.* -n 8 -t 1 -c .* --temp 0" \
  "$dir/peers/llama-cli.log")" = 3 ] || fail "bench peers asks otherwise: $(cat "$dir/peers/llama-cli.log")"
printf '#!/bin/sh\necho no such option >&2\nexit 1\n' >"$dir/peers/llama-lookup"
expect_status 0 "bench peers where a mode fails" peers --peer-bin "$dir/peers"
expect_text "n-gram look-up: stopped after 0 answers; $dir/peers/llama-lookup: exited with status 1: no such option" out \
  "bench peers where a mode fails"
expect_status 1 "bench peers without any" peers --peer-bin "$dir/nothing"
expect_text "no other engine can be run: none of llama-completion, llama-cli" err "bench peers without any"
printf '#!/bin/sh\necho no such model >&2\nexit 3\n' >"$dir/nothing/llama-cli"
chmod +x "$dir/nothing/llama-cli"
expect_status 1 "a peer that fails" peers --peer-bin "$dir/nothing"
expect_text "llama-cli: exited with status 3: no such model" err "a peer that fails"

# A command that runs out of memory, at any point, ends with status 1 and a message, never with an
# abort.
# expect_little_memory WHAT COMMAND...: runs COMMAND with more and more memory, from what the program
# needs to start up to what COMMAND needs.
expect_little_memory() {
  what=$1
  shift
  kib=$least
  while kib=$((kib + 1500)); [ "$kib" -lt 8000000 ]; do
    (ulimit -v "$kib" && "$@") >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    [ "$got" -eq 0 ] && return
    [ "$got" -eq 1 ] || fail "$what in $kib KiB: status $got: $(head -c 300 "$dir/err")"
    grep -q -i memory "$dir/err" || fail "$what in $kib KiB says '$(head -c 300 "$dir/err")'"
  done
}
if (ulimit -v 8000000 && "$bin" --version) >/dev/null 2>&1; then # a sanitizer reserves terabytes
  least=4000
  # A shell of its own hides how the program's loader fails.
  until sh -c 'ulimit -v "$1" && "$2" --version; exit $?' sh "$least" "$bin" >/dev/null 2>&1; do
    least=$((least + 2000))
  done
  expect_little_memory "generate" generate -p hello -n 60 -q
  expect_little_memory "generate --drafter lookahead" generate -p hello -n 30 -q --drafter lookahead --tree chain
  expect_little_memory "generate --drafter auto" generate -p hello -n 30 -q --drafter pld,pld+a \
    --draft-opt 'pld+a.heads=[[0,0]]'
  expect_little_memory "find-heads" "$bin" find-heads -m "$model" -t 1 -q -n 8 -o "$dir/little.heads.json" --force
  (ulimit -v 600000 && "$bin" bench limits -t 1) >"$dir/out" 2>"$dir/err"
  [ $? -eq 1 ] || fail "bench limits in little memory"
  expect_text "refused another 769 MiB" err "bench limits in little memory"
fi

finish
