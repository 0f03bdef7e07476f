#!/bin/sh
# Set up a fresh clone of the last commit in a folder whose name has spaces and accents, and check that Atelier starts:
#     sh packaging/check_setup.sh [VERSION_OF_PIP [PYTHON]]
# The default pip is the one included with the Python; the default Python is that of .venv, or python3.
# `make check-setup PIP=25.3 PYTHON=…` runs this script.
set -eu
unset MAKEFLAGS MFLAGS # options of the `make` that started this, such as -j, are not for the one of the clone
pip="${1:-}"
root="$(cd "$(dirname "$0")/.." && pwd)"
python="${2:-$root/.venv/bin/python}"
[ -x "$(command -v "$python")" ] || python=python3
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP

git clone -q "$root" "$folder/Étude à deux"
cd "$folder/Étude à deux"
if [ -n "$pip" ]; then
  "$python" -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check "pip==$pip"
fi
make setup PYTHON="$python"

.venv/bin/python -m pip --version
.venv/bin/atelier --version
again="$(make --no-print-directory setup)"
if [ -n "$again" ]; then
  echo "A second set-up changed something: $again" >&2
  exit 1
fi
echo "Set up with $("$python" --version), pip ${pip:-as included}"
