#!/bin/sh
# Makes .venv with the locked versions of main.txt or dev.txt (`install.sh main`, `install.sh dev`) and bowerbird itself: with uv when
# there is one, with plain Python and pip otherwise.
# PYTHON=python3.12 chooses an interpreter; otherwise the first of the list below that is new enough.
set -eu
cd "$(dirname "$0")/.."
packages=requirements/${1:-dev}.txt

fits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if fits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

explain() {
    printf '\n%s\n' "$*" >&2
    exit 1
}

with_uv() {
    # Without a fitting Python uv looks further, and may fetch one.
    [ -x .venv/bin/python ] || uv venv --quiet --python "${python:->=3.11}" .venv || return 1
    uv pip install --quiet --python .venv/bin/python -r "$packages" &&
        uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
}

make_environment() {
    [ -n "$python" ] || explain "bowerbird needs Python 3.11 or newer and found none${PYTHON:+ under the name $PYTHON}." \
        "Install one (on Debian and Ubuntu: apt install python3 python3-venv), or uv (https://docs.astral.sh/uv), and run make again."
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        explain "$python cannot make virtual environments because its venv or ensurepip module is missing." \
            "Install it (on Debian and Ubuntu: apt install python3-venv), or uv (https://docs.astral.sh/uv), and run make again."
    fi
    "$python" -m venv .venv
}

with_pip() {
    .venv/bin/python -m pip --version >/dev/null 2>&1 || { rm -rf .venv && make_environment; }
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$packages" &&
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
}

python=$(find_python)
if ! fits .venv/bin/python; then
    # None yet, or one that was moved or whose Python has gone.
    rm -rf .venv
fi
echo "Setting up .venv with locked versions (once; takes a minute) …"
if command -v uv >/dev/null 2>&1 && with_uv; then
    echo "Ready (with uv)."
elif with_pip; then
    echo "Ready (with pip)."
else
    explain "The packages of $packages could not be installed; the lines above say why. Is the network reachable?"
fi
if [ "$packages" = requirements/dev.txt ]; then
    .venv/bin/python requirements/web/fetch.py
fi
