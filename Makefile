# `make demo` and `make test` are all that a fresh checkout needs. Stamp files make a second set-up cost nothing.

# Used only to find a Python that fits; name one with `make PYTHON=python3.12 setup`.
BOOTSTRAP := $(firstword $(foreach name,$(PYTHON) python3 python3.12 python3.11 python3.10,$(shell command -v $(name))))
# `make test SPARK=4`: on Spark 4, from a lock file and in an environment of its own.
SPARK ?= 3
$(if $(filter-out 3 4,$(SPARK)),$(error SPARK is "$(SPARK)", not 3 or 4))
SUFFIX := $(if $(filter 4,$(SPARK)),-spark4)
VENV := .venv$(SUFFIX)
RUN_LOCK := requirements$(SUFFIX).lock
DEV_LOCK := requirements$(or $(SUFFIX),-dev).lock
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.alluvium-run
DEV_STAMP := $(VENV)/.alluvium-dev
BENCH_VENV := .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.alluvium-bench
INPUTS := scripts/setup.py scripts/requirements-build.lock pyproject.toml $(wildcard alluvium/runtime/jars*.lock)
LOCK := uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-annotate --custom-compile-command "make lock"
# One worker has the Spark session, the other one the tests without it.
WORKERS := -n 2
# `make demo TARGET=thrift`: through a Thrift server.
DEMO_TARGET := $(if $(TARGET),--target $(TARGET))
LINTED := alluvium benchmarks dbt_alluvium spark_udfs scripts tests/python

# The samples and the tests are small: compiling well and collecting in parallel cost more than running them, and a heap and a
# metaspace that begin small are collected whole each time they grow.
demo demo-changes test test-all statements compare-targets: export ALLUVIUM_JVM_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC \
  -XX:MetaspaceSize=256m -Xms1g
demo demo-changes test statements compare-targets: export ALLUVIUM_CODEGEN ?= false
# One session builds hundreds of tables here. In 2g, at 134 Delta tables, two thirds of the time went into collecting garbage.
demo demo-changes test test-all statements compare-targets: export ALLUVIUM_DRIVER_MEMORY ?= 4g

export PYTHON SPARK
.DEFAULT_GOAL := help
.PHONY: help setup setup-bench setup-dev demo demo-changes test test-all lint bench bench-smoke bench-entities guards performance profile statements compare-targets transcript lock clean require-python

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | awk -F@ '{ printf "%-22s %s\n", $$1, $$2 }'

setup: $(RUN_STAMP) ## environment and jars; the other targets call it

setup-dev: $(DEV_STAMP) ## setup, and what the tests and linters need

setup-bench: $(BENCH_STAMP) ## setup, and what the systems without Spark and the plots need, in .venv-bench

demo: $(RUN_STAMP) ## land and build the source systems
	@$(BIN)/python -m scripts.demo $(DEMO_TARGET)

demo-changes: $(RUN_STAMP) ## land their later files and see the tables move
	@$(BIN)/python -m scripts.demo changes $(DEMO_TARGET)

test: $(DEV_STAMP) ## the tests, without the slow suites
	@$(BIN)/python -m pytest -m "not slow" $(WORKERS) $(PYTEST_ARGS)

test-all: $(DEV_STAMP) ## the tests, slow suites too
	@$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

lint: $(DEV_STAMP) ## ruff, mypy, sqlfluff
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy $(LINTED)
	$(BIN)/sqlfluff lint models

bench-smoke: $(RUN_STAMP) ## 250,000 rows, 1 % changes, nothing new, beside a script; fails if a ratio is above its limit
	@$(BIN)/python -m benchmarks gate $(BENCH_ARGS)

bench: $(BENCH_STAMP) ## `make bench BENCH_ARGS="run table_1m"`: scenarios of benchmarks/scenarios.yml; `--help` lists the commands
	@$(BIN)/python -m benchmarks $(or $(BENCH_ARGS),list)

performance: $(BENCH_STAMP) ## write docs/performance.md and its plots from benchmarks/results
	@$(BIN)/python -m benchmarks report $(BENCH_ARGS)

bench-entities: $(RUN_STAMP) ## 100 small tables on a server: the first build, and one with nothing new
	@$(BIN)/python -m benchmarks.many_entities $(BENCH_ARGS)

guards: $(RUN_STAMP) ## what each guard of a change log costs, in processor time per event
	@$(BIN)/python -m benchmarks.guards $(BENCH_ARGS)

profile: $(RUN_STAMP) ## where the seconds of a build go: statements, Spark's jobs, planning; cold and on a server
	@$(BIN)/python -m benchmarks.profile $(BENCH_ARGS)

statements: $(RUN_STAMP) ## statements that a first, a small and an idle build send, by kind of model
	@$(BIN)/python -m benchmarks.statements $(BENCH_ARGS)

compare-targets: $(RUN_STAMP) ## the source systems on every target and in every format: the same rows, and the seconds
	@$(BIN)/python -m benchmarks.targets $(BENCH_ARGS)

transcript: $(RUN_STAMP) ## record docs/transcript.md anew
	@$(BIN)/python scripts/transcript.py

lock: ## write the .lock files anew from the .in files (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: 'pipx install uv', then run it again." >&2; exit 1; }
	for name in requirements scripts/requirements-build scripts/requirements-uv; do $(LOCK) --upgrade $$name.in -o $$name.lock || exit 1; done
	$(LOCK) --upgrade requirements-dev.in -c requirements.lock -o requirements-dev.lock
	$(LOCK) --upgrade requirements-bench.in -c requirements.lock -o requirements-bench.lock
	# What is in the file already is kept, so that nothing but Spark differs.
	cp requirements-dev.lock requirements-spark4.lock
	$(LOCK) requirements-dev.in --override requirements-spark4.in -o requirements-spark4.lock

clean: ## remove what runs have made: tables, metastore, dbt's target and logs; the environment stays
	rm -rf .alluvium landing target logs dbt_packages spark-warehouse metastore_db derby.log

# The environment's own Python is a prerequisite: gone, or a link to a Python that is gone, it is made again.
$(RUN_STAMP): $(RUN_LOCK) $(INPUTS) $(BIN)/python | require-python
	@$(BOOTSTRAP) scripts/setup.py

$(DEV_STAMP): $(DEV_LOCK) $(INPUTS) $(BIN)/python | require-python
	@$(BOOTSTRAP) scripts/setup.py --dev

# The pip of the other environment: where Python has no ensurepip, a new one has none.
$(BENCH_STAMP): requirements-bench.lock | $(RUN_STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(BENCH_VENV)
	@$(BIN)/python -m pip --quiet --python $(BENCH_VENV)/bin/python install --require-hashes -r requirements-bench.lock
	@touch $@

$(BIN)/python: ;

require-python:
	@test -n "$(BOOTSTRAP)" || { echo "setup: no Python found: install Python 3.10 to 3.12 \
	('sudo apt-get install python3' on Debian and Ubuntu, 'brew install python@3.12' on macOS)." >&2; exit 1; }
