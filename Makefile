# The two commands of the README are `make demo` and `make test`; both set up .venv when it is missing.
PYTHON ?= python3
BIN := .venv/bin
# Two spinning OpenMP threads on two cores can be 60x slower than one.
export OMP_WAIT_POLICY ?= passive

.PHONY: demo test test-slow lint bench docs clean

demo: .venv/installed
	$(BIN)/sampled-transformer demo

test: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test-slow: .venv/installed
	$(BIN)/python -m pytest -m slow

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

docs: .venv/installed
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[docs]"
	$(BIN)/mkdocs build --strict

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev,formats,train,report,cluster]"
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
