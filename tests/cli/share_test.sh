#!/bin/sh
# distill --share: processes that answer one data set together write what one process writes.
# usage: share_test.sh FORETOKEN MODEL FOLDER
set -u
bin=$1 model=$2 dir=$3
rm -rf "$dir"
mkdir -p "$dir"

. "$(dirname "$0")/expect.sh"

# Twelve conversations; the tenth asks what the second asked, in another part.
for i in 1 2 3 4 5 6 7 8 9 2 11 12; do
  printf '{"messages": [{"role": "user", "content": "hello %s"}]}\n' $i
done >"$dir/asked.jsonl"
# distill LENGTH OUT ...: answers of up to LENGTH tokens, which only the limit ends.
distill() {
  longest=$1 out=$2
  shift 2
  "$bin" distill -m "$model" -t 1 --data "$dir/asked.jsonl" -n "$longest" --out "$dir/$out" --temp 1 --seed 3 \
    --logit-bias 256:-100 "$@"
}
share() { share_up_to 600 "$@"; }
share_up_to() {
  length=$1
  shift
  distill "$length" out.jsonl --batch 2 --share --part 3 "$@"
}
expect_written() {
  cmp -s "$dir/alone.jsonl" "$dir/out.jsonl" || fail "$1: the text differs from that of one process"
  cmp -s "$dir/alone.jsonl.run.json" "$dir/out.jsonl.run.json" || fail "$1: the record differs"
  [ ! -e "$dir/out.jsonl.parts" ] || fail "$1: the parts are still there: $(ls "$dir/out.jsonl.parts")"
}
expect_status 0 "distill" distill 600 alone.jsonl
[ "$(wc -l <"$dir/alone.jsonl")" -eq 11 ] || fail "distill: not 11 lines"

expect_status 0 "one process" share
expect_text "4 of 4 parts" err "one process"
expect_text "out.jsonl: all parts are finished" err "one process"
expect_written "one process"
expect_status 0 "a finished run" share -q
expect_written "a finished run"

rm "$dir/out.jsonl"
share -q 2>"$dir/err1" &
one=$!
share -q 2>"$dir/err2" &
two=$!
wait $one || fail "two processes, the first: $(cat "$dir/err1")"
wait $two || fail "two processes, the second: $(cat "$dir/err2")"
expect_written "two processes"

# A process is killed when it has written a line; another has the last part.
rm "$dir/out.jsonl"
"$bin" distill -m "$model" -t 1 --data "$dir/asked.jsonl" -n 600 --out "$dir/out.jsonl" --temp 1 --seed 3 \
  --logit-bias 256:-100 --batch 1 --share --part 3 -q &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -s "$dir/out.jsonl.parts/00000.jsonl" ]; do sleep 0.01; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ -e "$dir/out.jsonl.parts/state.json" ] || fail "a killed process has finished: $(ls "$dir")"
if grep -q '"finished":\[\]' "$dir/out.jsonl.parts/state.json"; then
  printf '{"source": 2, "mess' >>"$dir/out.jsonl.parts/00000.jsonl"
fi
expect_status 1 "another -n" share_up_to 7
expect_text "out.jsonl holds answers that were started with other settings or data: new_tokens was 600, now 7. --change new_tokens continues" err "another -n"
expect_status 1 "another number of conversations" share --limit 11
expect_text "was started with 12 conversations, now there are 11" err "another number of conversations"
expect_status 1 "without --share" distill 600 out.jsonl
expect_text "out.jsonl: was started with --share, and its answers are in .*out.jsonl.parts" err "without --share"
cat >"$dir/hold.py" <<'PYTHON'
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
PYTHON
python3 "$dir/hold.py" "$dir/out.jsonl.parts/00003.jsonl" >"$dir/held" &
holder=$!
while kill -0 $holder 2>/dev/null && [ ! -s "$dir/held" ]; do sleep 0.01; done
expect_status 1 "another -n beside a process" share_up_to 7 --change new_tokens
expect_text "new_tokens was 600, now 7. Other processes are working on them" err "another -n beside a process"
expect_status 0 "a process that takes over" share --force
expect_text "out.jsonl: other processes are still answering 1 of 4 parts; the last one writes it" err "a process that takes over"
expect_text "so --force has no effect" err "a process that takes over"
[ ! -e "$dir/out.jsonl" ] || fail "a process that takes over: the output is written too soon"
kill -9 $holder
wait $holder 2>/dev/null
expect_status 0 "the last process" share
expect_written "the last process"

# Parts continue what one process has started; --force starts over.
head -n 5 "$dir/alone.jsonl" >"$dir/out.jsonl"
printf '{"source"' >>"$dir/out.jsonl"
expect_status 1 "an output of another -n" share_up_to 7
expect_text "new_tokens was 600, now 7" err "an output of another -n"
[ ! -e "$dir/out.jsonl.parts" ] || fail "an output of another -n: parts are left"
expect_status 0 "an output that one process has started" share
expect_text "3 of 3 parts" err "an output that one process has started"
expect_written "an output that one process has started"
expect_status 0 "--force" share_up_to 7 --force
[ "$(wc -l <"$dir/out.jsonl")" -eq 11 ] || fail "--force: not 11 lines"
cmp -s "$dir/alone.jsonl" "$dir/out.jsonl" && fail "--force: nothing is answered again"

# What cannot be shared.
echo "no answers" >"$dir/other.txt"
expect_status 1 "over another file" distill 7 other.txt --share
expect_text "other.txt: is not an output of distill" err "over another file"
cp "$dir/asked.jsonl" "$dir/asked.kept"
expect_status 1 "over its data" distill 7 asked.jsonl --share --force
expect_text "asked.jsonl: is an input of this command" err "over its data"
cmp -s "$dir/asked.jsonl" "$dir/asked.kept" || fail "over its data: they were changed"
expect_status 1 "to a device" "$bin" distill -m "$model" --data "$dir/asked.jsonl" --share --out /dev/null
expect_text "/dev/null: --share needs a regular file" err "to a device"
expect_status 1 "nowhere" "$bin" distill -m none.gguf --data "$dir/asked.jsonl" --share --out "$dir/none/x"
expect_text "none/x: cannot write into" err "nowhere"
expect_status 2 "--part without --share" distill 7 x --part 3
expect_text "--share" err "--part without --share"
[ "$(ls "$dir" | grep -c parts)" -eq 0 ] || fail "parts are left: $(ls "$dir")"

finish
