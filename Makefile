# Everything happens in .venv, with the versions of constraints.txt. `make demo` and `make test` each set it up.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo docs site test test-slow test-faults test-kernels coverage lint bench results pages lock release-check clean

help:
	@echo "make demo         four ways to forget, side by side, in about a minute: see runs/demo/index.html"
	@echo "make test         lint, type-check and test"
	@echo "make test-slow    the tests that take minutes, and more examples of those that draw theirs"
	@echo "make test-faults  kills, power cuts, full disks and damaged files: none may lose a run"
	@echo "make test-kernels the memory's tests and hostile calls again, with bounds checks in every kernel"
	@echo "make docs         the documentation as a site: see build/site/index.html"
	@echo "make site         the results as a site: see build/results/index.html"
	@echo "make coverage     the tests again, and which lines they ran"
	@echo "make bench        speed beside FAISS, USearch, the bare environment, Stable-Baselines3 and SBX"
	@echo "make results      all studies but Atari again, in three to four hours"
	@echo "make setup        only the virtual environment"
	@echo "make lock         the lock files of requirements/ again, from constraints.txt"
	@echo "make release-check  version, changelog, lock files, and the wheel in an empty environment"

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Engram needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/python examples/demo.py

docs: setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs . build/site
	@echo "the site is build/site/index.html"

site: setup
	$(BIN)/engram site results --out build/results

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n 2 --dist loadfile

THOROUGH := --hypothesis-profile thorough  # more examples than `make test` has time for

test-slow: setup
	$(BIN)/pytest -m slow
	$(BIN)/pytest -m hypothesis $(THOROUGH)

test-faults: setup
	$(BIN)/python -m tests.faults

test-kernels: setup
	NUMBA_BOUNDSCHECK=1 $(BIN)/pytest tests/memory $(THOROUGH)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m tests.faults --only "hostile files" "hostile calls of the memory"

coverage: setup
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term

bench: setup
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/engram bench --out results/bench.json

STUDIES := cartpole acrobot openroom fourroom stream
REUSED := --reuse runs/cartpole runs/acrobot runs/openroom runs/fourroom
CONFIRMED := --strategies lru kmeans dkm fading $(REUSED) --out runs/forgetting-confirmed

results: setup
	for study in $(STUDIES); do $(BIN)/engram study $$study || exit 1; done
	$(BIN)/engram study forgetting
	$(BIN)/engram study forgetting --agents mfec --seeds 10-29 $(CONFIRMED)
	$(BIN)/engram study forgetting --agents nec --seeds 10-19 $(CONFIRMED)
	$(BIN)/engram study open $(REUSED)
	for study in $(STUDIES) forgetting forgetting-confirmed open; do \
	  $(BIN)/engram report runs/$$study --out results/$$study || exit 1; \
	done
	$(MAKE) pages

pages: setup
	for folder in $(patsubst %/study.json,%,$(wildcard results/*/study.json)); do \
	  rm -rf $$folder/figures; $(BIN)/engram report $$folder || exit 1; \
	done
	$(BIN)/engram claims $(STUDIES:%=results/%) results/atari --out results/claims.md

.venv/release: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[release]'
	touch $@

# torch is left out: which build is right depends on the machine, https://pytorch.org/get-started/locally
COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url --no-emit-find-links \
  --constraint constraints.txt --allow-unsafe --newline lf
lock: .venv/release
	CUSTOM_COMPILE_COMMAND='make lock' $(COMPILE) --output-file requirements/core.txt pyproject.toml
	CUSTOM_COMPILE_COMMAND='make lock' $(COMPILE) --extra atari --extra ray --extra report --extra tensorboard \
	  --extra tune --extra video --output-file requirements/extras.txt pyproject.toml

release-check: .venv/release
	$(BIN)/python -m tools.release_check

clean:
	rm -rf .venv dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name '__pycache__' -prune -exec rm -rf {} +
