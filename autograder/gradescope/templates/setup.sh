#!/usr/bin/env bash
# Builds the image: Gradescope runs this once, as root, when the zip is uploaded.
#
# The images are Ubuntu's (22.04 by default), whose Python may be too old. uv uses the system's
# where it is suitable, else installs one. Everything lies below source/, apart from student code.
set -euo pipefail
umask 022 # the user who runs student code owns nothing, but must read Python and torch
trap 'echo "setup.sh failed in line $LINENO: this autograder cannot grade." >&2' ERR

readonly PYTHON=3.11 UV=0.13.9 # the Python under which constraints.txt was made
readonly here="${AUTOGRADER_ROOT:-/autograder}/source"
readonly python="$here/venv/bin/python"

export DEBIAN_FRONTEND=noninteractive
export UV_PYTHON_INSTALL_DIR="$here/python" # not in root's home, which no other user may enter
export UV_NO_CONFIG=1 UV_LINK_MODE=copy
export UV_TORCH_BACKEND="${UV_TORCH_BACKEND:-cpu}" # builds for GPUs have gigabytes

if ! command -v uv >/dev/null; then
  apt-get update
  apt-get install -y --no-install-recommends ca-certificates python3-venv
  python3 -m venv /opt/uv
  /opt/uv/bin/python -m pip install --no-cache-dir "uv==$UV"
  PATH="/opt/uv/bin:$PATH"
fi

uv venv --clear --python "$PYTHON" "$here/venv"
# Bytecode now: containers are discarded, and each would compile torch again.
uv pip install --no-cache --compile-bytecode --python "$python" \
  --constraint "$here/constraints.txt" --requirement "$here/requirements.txt"
packages="$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
rm -rf "${packages:?}/autograder"
cp -R "$here/autograder" "$packages/"
"$python" -I -m compileall -q "$packages/autograder"

chmod -R go= "$here/course"
"$here/run_autograder" --try # grades the solutions; less than full marks stops the build
