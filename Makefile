# make demo and make test work from a fresh clone with nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYTHONHASHSEED := 0
unexport PYTHONDONTWRITEBYTECODE  # the tests start a hundred processes that import the package

.PHONY: demo test test-cluster test-statistics test-slow lint docs wheel bench bench-check coverage lock clean

demo: $(VENV)/.installed
	$(BIN)/superwords demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not statistics and not slow and not cluster"

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not statistics and not slow and not cluster" --cov --cov-report=term --cov-report=xml

test-cluster: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "cluster and not slow"

test-statistics: $(VENV)/.installed-dev
	nice -n 10 $(BIN)/python -m pytest -n 2 --dist worksteal -m statistics

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# The wheel as a stranger gets it: built, installed into a bare environment, and run from a folder that is not this one.
wheel:
	rm -rf build dist .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check dist/superwords-*.whl -c constraints.txt
	cd / && $(CURDIR)/.venv-wheel/bin/superwords --version
	cd / && $(CURDIR)/.venv-wheel/bin/superwords demo
	rm -rf build .venv-wheel

bench: $(VENV)/.installed-dev
	$(BIN)/python -m experiments bench

bench-check: $(VENV)/.installed-dev
	$(BIN)/python -m experiments bench --quick --out build/bench
	$(BIN)/python scripts/check_bench.py build/bench/bench.json

# Hashes of the pinned files, without the address of any index.
lock: $(VENV)/.installed-dev
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header --no-annotate --strip-extras --output-file requirements.lock constraints.txt
	rm -rf .venv-lock

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("superwords needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[effects]' -c constraints.txt  # all that the README's commands use
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .ruff_cache .mypy_cache
