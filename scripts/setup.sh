#!/bin/sh
# Installs the Debian packages of the named groups (packages/GROUP.txt) that are missing.
# usage: scripts/setup.sh GROUP...
set -eu
cd "$(dirname "$0")/.."

missing=
for group in "$@"; do
  for package in $(cat "packages/$group.txt"); do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
if [ "$(id -u)" -eq 0 ]; then
  sudo=
elif command -v sudo >/dev/null 2>&1; then
  sudo=sudo
else
  echo "scripts/setup.sh: these packages are missing and this user is neither root nor has sudo:$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
# shellcheck disable=SC2086  # the list is meant to be split
$sudo apt-get install -q -y --no-install-recommends $missing
