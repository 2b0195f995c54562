# The two commands of the README are `make demo` and `make test`; both set up .venv when it is missing.
PYTHON ?= python3
BIN := .venv/bin
DOCS := .venv-docs/bin
# Two spinning OpenMP threads on two cores can be 60x slower than one.
export OMP_WAIT_POLICY ?= passive
# Tests run side by side, so each process gets one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: help demo test test-slow test-faults test-browser pictures fuzz load licences lint docs smoke bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/\1|\2/' | \
		while IFS='|' read -r name text; do printf '  %-12s  %s\n' "$$name" "$$text"; done

demo: .venv/installed ## train three small networks and write a report (five minutes)
	$(BIN)/sampled-transformer demo

test: .venv/installed ## run the test suite (COVERAGE=1 reports which lines it reaches)
	$(PYTEST) -n auto $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

test-slow: .venv/installed ## run the tests that take minutes
	$(BIN)/python -m pytest -m slow

test-faults: .venv/installed ## kill runs, fill disks, send signals (four minutes); writes results/faults/runs.json
	FAULTS_RESULTS=results/faults/runs.json $(PYTEST) -m faults

test-browser: .venv/browser docs ## look at every page in a real browser (three minutes)
	$(PYTEST) -m browser

pictures: .venv/browser ## take the pictures of the documentation anew (SCENES=RUN takes that of a scene)
	$(BIN)/python .ci/pictures.py $(if $(SCENES),--scenes $(SCENES))

fuzz: .venv/installed ## read 200,000 mutated files with every reader (hours); findings go to tests/data/fuzz/open
	OMP_NUM_THREADS=1 $(BIN)/python -m sampled_transformer_lab.fuzz --count $(or $(COUNT),200000) --seed $(or $(SEED),0) \
		--out results/faults/fuzz.json

load: .venv/installed ## the page under 50 visitors, 20 million points, 10,000 files (an hour); figures go to docs/reliability.md
	$(BIN)/python -m sampled_transformer_lab.load.page --out results/faults/load.json
	$(BIN)/python -m sampled_transformer_lab.load.files --out results/bench/many-files.json
	$(BIN)/python -m sampled_transformer_lab.load.scans --out results/bench/large-scans.json
	$(BIN)/python benchmarks/predict.py --json results/bench/predict.json
	$(BIN)/python -m sampled_transformer_lab.load.tables docs/reliability.md

licences: .venv/installed ## list the licences of all dependencies in docs/licences.md
	$(BIN)/python -m sampled_transformer_lab.licences docs/licences.md

lint: .venv/installed ## ruff check, ruff format --check and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv-docs/installed ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict

smoke: .venv/installed ## install the wheel into an empty environment and try it there
	.ci/smoke

bench: .venv/installed ## run every benchmark; keep the machine otherwise idle
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean: ## delete the environments and everything that was built
	rm -rf .venv .venv-docs build dist site .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev,formats,train,report,cluster,sklearn,hub,export,pyg,parquet,remote,ray,view]"
	touch $@

.venv/browser: .venv/installed .ci/chromium
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[browser]"
	.ci/chromium
	touch $@

# The pages are built from the sources without importing them, so this environment is small.
.venv-docs/installed: docs/requirements.txt
	test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	$(DOCS)/python -m pip install -q -r docs/requirements.txt
	touch $@
