#!/bin/sh
# Installs the packages that the checks of `foretoken serve` need from PyPI (requirements.txt) into build/serve-venv.
# Fails if PyPI does not answer. With FT_SKIP_SERVE_CHECKS=1, which leaves the checks out, it does nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
venv=build/serve-venv

[ "${FT_SKIP_SERVE_CHECKS:-}" != 1 ] || exit 0
wanted=$(cat "$here/requirements.txt" && python3 --version)
if [ -x $venv/bin/python ] && [ "$wanted" = "$(cat $venv/installed.txt 2>/dev/null)" ]; then exit 0; fi

rm -rf $venv
mkdir -p build
# The environment gets no pip, for which Debian needs another package; the host's pip installs into it.
python3 -m venv --without-pip $venv
if ! python3 -m pip --python $venv/bin/python install -q --disable-pip-version-check --no-input --retries 2 --timeout 30 \
  --only-binary :all: --no-compile --no-deps -r "$here/requirements.txt" 2>$venv/log; then
  cat $venv/log >&2
  echo "tests/serve/install.sh: PyPI's packages were not installed; FT_SKIP_SERVE_CHECKS=1 leaves these checks out" >&2
  exit 1
fi
echo "$wanted" >$venv/installed.txt
