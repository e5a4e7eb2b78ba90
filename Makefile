# `make demo` and `make test` do all set-up by themselves; PYTHON=python3.12 chooses an interpreter.
BIN := .venv/bin
INSTALLED := .venv/.installed
READY := .venv/.ready
COLLECTED := .cache/collected
# Two for each of the two cores that it is made for: tests that start processes wait a good deal.
WORKERS ?= 4
# Long tests hold real streams against the clock: they need a processor when they want one.
LONG_WORKERS ?= 3
COMPILE := pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --annotation-style line --custom-compile-command "make lock"

# Compiled modules are kept, even where the environment says not to: the tests start hundreds of processes, and each would spend a
# second on compiling everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo dashboard docs test test-long test-all collect test-nightly test-real test-browser screenshots check lint types lock clean
.DEFAULT_GOAL := install

install: $(INSTALLED)

# Everything: what exports and plots need, and what tests and developers do.
$(INSTALLED): pyproject.toml requirements/main.txt requirements/dev.txt requirements/install.sh requirements/web/package-lock.json requirements/web/fetch.py
	@sh requirements/install.sh dev
	@touch $@ $(READY)

# Only what the command itself needs, so that the demo starts soon.
$(READY): pyproject.toml requirements/main.txt requirements/install.sh
	@sh requirements/install.sh main
	@touch $@

demo: $(READY)
	@$(BIN)/bowerbird demo

# The dashboard on a simulated crawl that runs, in the browser.
dashboard: install
	@$(BIN)/bowerbird demo --dashboard

# The documentation as a site, into site/; a broken link is an error.
docs: install
	@$(BIN)/python docs/make_reference.py
	@$(BIN)/zensical build --strict
	@echo "Open site/index.html."

# Some six minutes on two cores. What is marked as long has a shorter form that is run here.
test: $(COLLECTED)
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not long"

test-long: $(COLLECTED)
	@$(BIN)/pytest -n $(LONG_WORKERS) --dist worksteal -m "long or hypothesis" --hypothesis-profile all

test-all: test test-long

# Compiles whatever tests import, once: on a fresh machine each process of `make test` would do so for itself, at the same time.
# What cannot be collected is told by the tests.
collect: $(COLLECTED)

$(COLLECTED): $(INSTALLED)
	@mkdir -p $(@D)
	@for part in unit contract scenario; do $(BIN)/pytest --collect-only -q tests/$$part >/dev/null 2>&1 & done; wait
	@touch $@

# All tests with 100,000 mutated pages instead of 5,000, 30 killed crawls instead of 6 and a crawl of three simulated months with 36
# deaths instead of one day with three: some minutes longer, for the night.
test-nightly: install
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --hypothesis-profile all --mutations 100000 --kills 30 --months 3

# A real Bluesky network from npm, crawled and compared; docs/real.md. Says so and skips where Node or npm is missing.
test-real: install
	@$(BIN)/python tests/real $(SCENES)

# The dashboard in Debian's Chromium; docs/dashboard.md. Says so and skips where there is no Chromium and none can be installed.
test-browser: install
	@sh tests/browser/run.sh $(BIN)

# The pictures of the documentation, made anew from the pages as they are.
screenshots: install
	@sh tests/browser/run.sh $(BIN) --screenshots docs/screenshots -k screenshots

check: lint types test-all

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import_linter

types: install
	$(BIN)/mypy

# The newest versions that fit, for every Python and system at once; needs uv.
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv" >&2; exit 1; }
	uv $(COMPILE) --upgrade pyproject.toml requirements/build.in --group pyproject.toml:dev -o requirements/dev.txt
	uv $(COMPILE) --upgrade pyproject.toml requirements/build.in -c requirements/dev.txt -o requirements/main.txt

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .hypothesis .coverage dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
