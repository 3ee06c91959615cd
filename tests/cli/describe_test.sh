#!/bin/bash
# The manual pages and shell completions of all commands agree with --help.
# usage: describe_test.sh FORETOKEN FOLDER
set -u
bin=$1 dir=$2
mkdir -p "$dir"

. "$(dirname "$0")/expect.sh"

# The text of a manual page, without font changes.
shown() { sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g' "$1"; }
# Long options that a help text shows.
long_options() { grep -oE '(^|[ ,])--[a-z][a-z0-9-]*' "$1" | sed 's/^[ ,]*//' | sort -u; }

# expect_options WHAT PAGE: the page names each option of the help in $dir/out.
expect_options() {
  shown "$2" >"$dir/shown"
  for option in $(long_options "$dir/out"); do
    grep -qE -e "(^|[ ,(])$option([^a-z0-9-]|\$)" "$dir/shown" || fail "$1: the page lacks $option"
  done
}

# Warnings of groff about the page, where it is installed.
expect_clean_roff() {
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$2" 2>"$dir/warnings" || fail "$1: groff fails"
    [ ! -s "$dir/warnings" ] || fail "$1: $(head -n 3 "$dir/warnings")"
  fi
}

expect_status 0 "help" "$bin" --help
commands=$(sed -n '/^commands:$/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$dir/out")
[ "$(echo "$commands" | wc -w)" -ge 18 ] || fail "help lists the commands: $commands"

expect_status 0 "man" "$bin" man
cp "$dir/out" "$dir/foretoken.1"
expect_clean_roff "man" "$dir/foretoken.1"
for command in $commands; do
  grep -q "^.fB$(echo "$command" | sed 's/-/\\\\-/g').fR$" "$dir/foretoken.1" || fail "man lacks $command"
  expect_status 0 "man $command" "$bin" man "$command"
  page=$dir/foretoken-$command.1
  cp "$dir/out" "$page"
  expect_clean_roff "man $command" "$page"
  "$bin" "$command" --help >"$dir/out" 2>/dev/null </dev/null || continue # train without its module
  expect_options "man $command" "$page"
  if grep -q "^Subcommands:" "$dir/out"; then
    for part in $(sed -n '/^Subcommands:$/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$dir/out"); do
      expect_status 0 "$command $part --help" "$bin" "$command" "$part" --help
      expect_options "man $command, $part" "$page"
    done
  fi
done
expect_status 0 "train plot --help" "$bin" train plot --help
expect_options "man train" "$dir/foretoken-train.1"
expect_status 0 "man of a name with '_'" "$bin" man find_heads
expect_status 2 "man of no command" "$bin" man genrate
expect_text "no command 'genrate'; did you mean generate?" err "man of no command"
if man --version >/dev/null 2>&1; then
  MANWIDTH=100 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$dir/foretoken-generate.1" >"$dir/out" 2>"$dir/err" ||
    fail "man -l: $(cat "$dir/err")"
  [ ! -s "$dir/err" ] || fail "man -l warns: $(cat "$dir/err")"
  col -b <"$dir/out" 2>/dev/null | grep -q -e "--draft-max" || fail "man -l shows no --draft-max"
fi

for shell in bash zsh fish; do
  expect_status 0 "completion $shell" "$bin" completion "$shell"
  cp "$dir/out" "$dir/completion.$shell"
  for command in $commands; do
    expect_text "$command" out "completion $shell lists $command"
  done
  if command -v "$shell" >/dev/null; then
    "$shell" -n "$dir/completion.$shell" 2>"$dir/err" || fail "$shell -n: $(cat "$dir/err")"
  fi
done
python3 -c 'import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run([sys.argv[1], "completion", "bash"], stdout=writer).returncode)' "$bin" 2>"$dir/err"
[ $? -eq 141 ] || fail "completion without a reader: another status"
[ -s "$dir/err" ] && fail "completion without a reader: $(cat "$dir/err")"
expect_status 2 "completion of no shell" "$bin" completion csh
expect_status 2 "completion without a shell" "$bin" completion

# complete_words WORDS...: what bash would offer while the last word is being typed.
. "$dir/completion.bash"
compopt() { offered="files"; } # bash's own works only inside a completion
complete_words() {
  COMP_WORDS=(foretoken "$@") COMP_CWORD=$#
  offered=
  _foretoken
  echo "$offered${COMPREPLY[*]}"
}
# expect_offer WHAT WORDS...: all of WHAT, in this order, and nothing else.
expect_offer() {
  want=$1
  shift
  got=$(complete_words "$@")
  [ "$got" = "$want" ] || fail "completing '$*' offers '$got', expected '$want'"
}
expect_offer "generate" gen
expect_offer "decode" bench dec
expect_offer "--draft-max --draft-opt --draft-noise --draft-model" generate --draft-
expect_offer "medusa" generate --drafter me
expect_offer "pld,medusa" generate -m x --drafter pld,me
expect_offer "medusa" generate --drafter = me
expect_offer "lookahead" chat --drafter = look
expect_offer "files" generate -m ""
expect_offer "files" generate --model = mod
expect_offer "files" inspect ""
expect_offer "files" bench decode --json ""
expect_offer "" generate -p ""
expect_offer "" generate -n ""
expect_offer "input full occurrences" find-heads --domain ""
expect_offer "bash zsh fish" completion ""
expect_offer "generate" man gene
expect_offer "plot" train pl
expect_offer "--help --version" --
[ "$(complete_words "" | wc -w)" = "$(echo "$commands" | wc -w)" ] || fail "completing nothing offers all commands"

finish
