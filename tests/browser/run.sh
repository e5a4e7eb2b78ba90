#!/bin/sh
# `run.sh BIN [ARGUMENTS]`: the tests of the dashboard in a real browser. Debian's Chromium is installed where we may.
set -eu
bin=$1
shift

found() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

if ! found >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing Chromium (once) …"
        { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
    fi
fi
if ! found >/dev/null; then
    echo "Skipping the tests in a browser: there is no Chromium (on Debian and Ubuntu: apt install chromium)."
    exit 0
fi
# Two for each of two cores: half of the time is waiting, for a browser, a process or a page that looks again after seconds.
exec "$bin/pytest" -n "${WORKERS:-4}" --dist worksteal -o addopts="-q --strict-markers -p no:cacheprovider" --chromium "$(found)" tests/browser "$@"
