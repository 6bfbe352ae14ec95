# What a person does with this checkout; CI does the same.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
export PYTHONWARNINGS ?= default

.PHONY: demo test check bench docs clean

demo: $(BIN)/octopus  ## crawl the built-in demo site, with live progress; the items are in demo-items.jsonl
	$(BIN)/octopus demo

test: $(VENV)/dev.stamp  ## run every test
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/dev.stamp  ## lint, types, and the rules of the house
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m pytest tests/house

bench: $(VENV)/dev.stamp  ## compare with the peers (see benchmarks/README.md)
	$(BIN)/python -m benchmarks.setup
	$(BIN)/python -m benchmarks.crawl --tree minih --concurrency 16
	$(BIN)/python -m benchmarks.crawl --tree midh --concurrency 64
	$(BIN)/python -m benchmarks.crawl --tree midh@broad --concurrency 64

docs: $(VENV)/dev.stamp  ## bring the generated tables of docs/ up to date
	$(BIN)/python docs/generate.py

$(BIN)/octopus: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[speed]'
	@touch $@

$(VENV)/dev.stamp: $(BIN)/octopus requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-items.jsonl
