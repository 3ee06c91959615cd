# Shared functions of the scripts that test commands. To be sourced, with the folder for outputs in $dir.
failures=0
fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}
# expect_status STATUS WHAT COMMAND...: output goes to $dir/out and $dir/err.
expect_status() {
  want=$1 what=$2
  shift 2
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  got=$?
  [ "$got" -eq "$want" ] || fail "$what: status $got, expected $want: $(cat "$dir/err")"
}
expect_text() { grep -q -e "$1" "$dir/$2" || fail "$3: no '$1' in $2: $(head -c 300 "$dir/$2")"; }
json() { python3 -c "import json,sys; s=json.load(open('$1')); print($2)"; }
# Ends the script; its status is the number of failures.
finish() {
  [ "$failures" -eq 0 ] && echo "all passed"
  exit "$failures"
}
