# Every target sets up what it needs in .venv by itself; the second time nothing is installed again.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The ROM lives in this package and is only read from there; --no-deps leaves out its old gym and a compiler.
ROM_PACKAGE := gym-super-mario-bros

.PHONY: help setup demo test families check format bench fuzz soak gallery docs clean
help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.dev  ## everything a developer needs

demo: $(VENV)/.demo  ## test a Super Mario Bros. agent in about two minutes and name the report to open
	$(BIN)/tightrope run examples/mario-demo.yaml --out runs/demo

# Three at a time, on two cores too: much of the time tests wait for processes that they have started.
test: $(VENV)/.dev  ## all tests
	@$(BIN)/python -m tests.prerequisites
	$(BIN)/python -m pytest -q -n 3 --dist loadfile $(PYTEST_ARGS)

# Their needs clash with one another and with the dev extra, so each set has a virtual environment of its own.
families: $(VENV)-robots/.ready $(VENV)-games/.ready $(VENV)-rllib/.ready $(VENV)-jax/.ready  ## tests of other packages' worlds and agents, which `make test` skips
	$(VENV)-games/bin/python -m pytest -q -n 0 -rs tests/simulation/test_more_families.py
	$(VENV)-robots/bin/python -m pytest -q -n 0 -rs tests/simulation/test_more_families.py -k "robots or gymnasium"
	$(VENV)-rllib/bin/python -m pytest -q -n 0 -rs tests/agents/test_rllib.py
	$(VENV)-jax/bin/python -m pytest -q -n 0 -rs tests/tasks/test_jax_families.py tests/tasks/test_jaxworlds.py tests/agents/test_jax.py

check: $(VENV)/.dev  ## format, lint, types
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/mypy

format: $(VENV)/.dev  ## let ruff format and fix what it can
	$(BIN)/ruff format src tests benchmarks examples docs
	$(BIN)/ruff check --fix src tests benchmarks examples docs

bench: $(VENV)/.dev  ## all benchmarks, as ratios against a baseline in the same run
	$(BIN)/python -m benchmarks.run

# FUZZ_CASES= ends it after so many files, FUZZ_SEED= repeats an earlier one.
FUZZ_MINUTES ?= 60
fuzz: $(VENV)/.dev  ## damage files of every kind and read them; FUZZ_MINUTES=60
	$(BIN)/python -m tests.filefuzz --minutes $(FUZZ_MINUTES) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES)) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

# SOAK_SEED= repeats the faults of an earlier one.
SOAK_MINUTES ?= 60
soak: $(VENV)/.dev  ## a long campaign that is disturbed all the time against one in peace; SOAK_MINUTES=60
	$(BIN)/python -m tests.soak --minutes $(SOAK_MINUTES) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

gallery: $(VENV)/.dev  ## the example reports of the documentation
	$(BIN)/python examples/gallery.py --out runs/gallery

# What the site's own libraries say about their future is not said at each build.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs  ## the documentation site, in site/; a link that leads nowhere is an error
	$(BIN)/mkdocs build
	@echo "Open site/index.html, or for its search: $(BIN)/python -m http.server --directory site"

clean:  ## remove what was built
	rm -rf $(VENV) $(VENV)-games $(VENV)-robots $(VENV)-rllib $(VENV)-jax runs site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing tightrope with the Super Mario Bros. extra (about 250 MB, once)…"
	$(PIP) -e '.[mario,video]'
	$(PIP) --no-deps $(ROM_PACKAGE)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "Installing what builds the documentation site (about 100 MB, once)…"
	$(PIP) -e '.[docs]'
	@touch $@

INTO = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check

$(VENV)-games/.ready: pyproject.toml
	@echo "Installing worlds of other packages (about 3.7 GB, once)…"
	$(PYTHON) -m venv $(@D)
	$(INTO) torch==2.13.0
	$(INTO) -e '.[dev]' gymnasium-robotics vizdoom panda-gym cffi moderngl
	# These ask for other versions of NumPy, JAX and pygame than they need.
	$(INTO) --no-deps flappy-bird-gymnasium tetris-gymnasium gym gym3 procgen2
	@touch $@

# Fetch, Hand and Kitchen cannot be made with MuJoCo 4.
$(VENV)-robots/.ready: pyproject.toml
	@echo "Installing robots that need an older MuJoCo (about 3.2 GB, once)…"
	$(PYTHON) -m venv $(@D)
	$(INTO) torch==2.13.0
	$(INTO) -e '.[dev]' gymnasium-robotics
	$(INTO) mujoco==3.3.7
	@touch $@

$(VENV)-rllib/.ready: pyproject.toml
	@echo "Installing RLlib (about 3.3 GB, once)…"
	$(PYTHON) -m venv $(@D)
	$(INTO) torch==2.13.0
	# What ray[rllib] asks for, without the older Gymnasium that it pins.
	$(INTO) -e '.[dev]' dm-tree lz4 tensorboardX ormsgpack pyarrow pandas
	@touch $@

$(VENV)-jax/.ready: pyproject.toml
	@echo "Installing JAX worlds and networks (about 3.4 GB, once)…"
	$(PYTHON) -m venv $(@D)
	$(INTO) torch==2.13.0
	$(INTO) -e '.[dev,brax,pgx]' flax dm-haiku six
	# It asks for an older Gymnasium than it needs.
	$(INTO) --no-deps gymnax
	@touch $@

# torch comes first and pinned: asked for by a range it may bring gigabytes of CUDA along.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing tightrope with everything its tests use (about 2 GB, once)…"
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps $(ROM_PACKAGE)
	@touch $@ $(VENV)/.demo $(VENV)/.docs
