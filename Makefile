# Every target sets up what it needs; the second time it starts at once.
PYTHON ?= python3.11
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: demo test test-fast test-no-posix test-matrix wheel attack golden lint coverage bench paper docs clean

# The demo: a path on embedded data, with progress, a table, a picture and a report in fwlasso-demo/.
demo: .venv/.demo
	$(BIN)/fwlasso demo --out fwlasso-demo

# Lint, types and tests. Kernels are compiled ahead of them, beside the types: two workers would compile many twice.
test: .venv/.dev
	$(BIN)/python -m fwlasso.warmup --jobs 2 & warming=$$!; $(MAKE) lint || { kill $$warming; exit 1; }; wait $$warming
	$(BIN)/python -m pytest -n 2 --dist worksteal

# What a minute has room for: float64, dense and CSC; no process is started, and no test takes long.
test-fast: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --fast

# The same with kernels as plain Python, and without what Windows lacks: a plugin hides it, and holds files as Windows does.
test-no-posix: .venv/.dev
	NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(BIN)/python -m pytest -p no_posix -n 2 --dist worksteal --fast -m "not compiled"

# The fast tests with the lowest versions that pyproject.toml allows, with the newest that there are, and on every Python
# that is here or can be fetched. Each has an environment of its own. PYTHONS="3.12 3.13" chooses.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-matrix: test-with-lowest-direct test-with-highest $(PYTHONS:%=test-on-%)

test-with-%: .venv-uv/bin/uv
	$< venv --quiet --clear --python $(PYTHON) .venv-$*
	$< pip install --quiet --python .venv-$* --resolution $* -e ".[dev]"
	.venv-$*/bin/python -m pytest -n 2 --dist worksteal --fast

test-on-%: .venv-uv/bin/uv
	@if $< venv --quiet --clear --python $* .venv-$*; then $(MAKE) .test-on-$*; else echo "No Python $* here: left out."; fi

.test-on-%:
	.venv-uv/bin/uv pip install --quiet --python .venv-$* -e ".[dev]"
	.venv-$*/bin/python -m pytest -n 2 --dist worksteal --fast

.venv-uv/bin/uv:
	$(PYTHON) -m venv .venv-uv
	echo '*' > .venv-uv/.gitignore
	.venv-uv/bin/python -m pip install --quiet --disable-pip-version-check uv

# A wheel with compiled kernels for this system, Python and numba, and the source distribution, in dist/: minutes.
wheel: .venv/.dev
	rm -rf dist build
	$(BIN)/python -m hatchling build -t sdist -d dist
	$(BIN)/python -m hatchling build -t wheel -d build
	$(BIN)/python .ci/wheel.py build dist

# Data that break arithmetic: every claim of 10,000 cases computed again in exact numbers. Faults are counted, none may be.
attack: .venv/.dev
	$(BIN)/python -m tests.attack --cases 10000 --seed 0 --jobs 2 --keep-going

# What this tree computes beside what another commit does, bit by bit, on this machine: make golden BASE=commit
# The cases are those of this tree. ARGS="--rtol 1e-12" lets floats differ by that much. Minutes, where kernels compile.
golden: .venv/.dev
	$(if $(BASE),,$(error golden: give a commit to compare with, make golden BASE=commit))
	place=$$(mktemp -d) && trap 'git worktree remove --force "$$place/base"; rm -rf "$$place"' EXIT && \
		git worktree add --quiet --detach "$$place/base" $(BASE) && \
		PYTHONPATH="$$place/base/src" $(BIN)/python -m tests.golden --write "$$place/base.npz" && \
		PYTHONPATH=src $(BIN)/python -m tests.golden --check "$$place/base.npz" $(ARGS)

# Lines of src that tests run, with kernels as plain Python; tests marked `compiled` would take minutes that way.
coverage: .venv/.dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m "not compiled" --cov=fwlasso --cov-fail-under=92 --cov-report=term:skip-covered

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture
	$(BIN)/vulture src reproduction benchmarks

# Speed and memory against peers, in one run. Needs the data folder for the real sets: make bench DATA=folder
bench: .venv/.dev .venv-peers/.done
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

# The paper's experiments again: docs/RESULTS.md, its figures and raw numbers. It resumes where it stopped. The real sets need
# the data folder; ARGS adds options such as "--all" or "--set pyrim": make paper DATA=folder ARGS="--seeds 3"
paper: .venv/.demo
	rm -rf fwlasso-paper/tables
	$(BIN)/python -m reproduction --out fwlasso-paper $(if $(DATA),--data $(DATA)) $(ARGS)
	rm -rf docs/figures docs/results && mkdir docs/figures docs/results
	cp fwlasso-paper/RESULTS.md docs/
	cp fwlasso-paper/records.csv fwlasso-paper/tables/*.csv docs/results/
	cp $$(grep -o 'figures/[^)]*[.]png' fwlasso-paper/RESULTS.md | sed 's|^|fwlasso-paper/|') docs/figures/

# The documentation: docs/_build/html/index.html. Warnings are errors; nothing is fetched, and the tutorials are run.
docs: .venv/.docs
	rm -rf docs/api/generated # pages of names that are gone
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

$(BIN)/python:
	$(PYTHON) -m venv .venv

# The peers have an environment of their own: adelie needs numpy below 2. R's glmnet is used where it is installed.
.venv-peers/.done: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	echo '*' > .venv-peers/.gitignore
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

.venv/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli,plot]"
	touch $@

.venv/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ .venv/.demo

.venv/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@ .venv/.demo

clean:
	rm -rf .venv .venv-* build dist fwlasso-demo fwlasso-paper bench-results .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		docs/_build docs/tutorials docs/api/generated docs/api/examples
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
