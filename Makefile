# What a person does with this checkout; CI does the same.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test check bench chaos docs lock clean

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

chaos: $(VENV)/dev.stamp  ## make the figures of docs/reliability.md again
	$(BIN)/python -m tests.chaos kills
	$(BIN)/python -m tests.chaos faults
	$(BIN)/python -m tests.chaos poison
	$(BIN)/python -m tests.chaos poison --workers 2
	$(BIN)/python -m tests.chaos away
	$(BIN)/python -m tests.chaos disk
	$(BIN)/python -m tests.chaos drain
	$(BIN)/python -m tests.chaos soak

docs: $(VENV)/dev.stamp  ## bring the generated tables of docs/ up to date
	$(BIN)/python docs/generate.py

$(BIN)/octopus: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[speed]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@ $(BIN)/octopus

lock:  ## pin the newest versions that fit together (needs uv)
	uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --no-annotate --no-header \
		--generate-hashes --upgrade --quiet --output-file requirements.lock
	sed -i.bak '1i # What CI and `make test` install; made by `make lock`.' requirements.lock && rm requirements.lock.bak

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-items.jsonl
