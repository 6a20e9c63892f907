# Short verbs; `make` alone lists them. Needs Python 3.11 or later and make; everything else goes into .venv.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test unit fast check fmt lint types generate stale bench docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## start the coordinator (data in ./data); more flags with ARGS="--topic orders:12"
	@exec $(BIN)/coordinator serve $(ARGS)

setup: $(VENV)/.installed-dev ## make .venv with everything that tests and checks need

# Four at a time, each file in one process: much of what tests do is wait for timeouts of real clients.
TOGETHER := --dist loadfile --no-loadscope-reorder
test: setup ## run all tests; one file or name with ARGS="tests/http -k ready"
	$(PY) -m pytest -n 4 $(TOGETHER) $(ARGS)

UNITS := tests/test_architecture.py tests/test_voice.py $(addprefix tests/,config protocol core explain storage server metrics columnar processes)
unit: setup ## the pure core, the wheel, the protocol and the log: no processes, no sockets (seconds)
	$(PY) -m pytest -q -n 2 $(TOGETHER) -m "not integration" $(UNITS) $(ARGS)

fast: setup ## every test without processes and sockets, compaction and history too (a minute and a half)
	$(PY) -m pytest -q -n 2 $(TOGETHER) -m "not integration" $(ARGS)

check: setup lint types stale unit ## what every change passes, in under a minute

fmt: setup ## put the code into its format
	$(BIN)/ruff check -q --fix-only . && $(BIN)/ruff format -q .

lint: setup ## format and lint, without changing anything
	$(BIN)/ruff format -q --check . || { echo "run: make fmt"; exit 1; }
	$(BIN)/ruff check -q .

types: setup ## mypy --strict
	$(BIN)/mypy

generate: setup ## write again what is generated: codecs and the pages in docs/ that come from the code
	@sh .ci/generate $(PY)

stale: setup ## fail if something generated no longer matches its source
	@sh .ci/generate $(PY) --check

docs: generate ## the same: docs/configuration.md, states.md and protocol.md come from the code

# In an environment of its own: nothing of it is needed to develop. npm brings the program for diagrams.
SITE := .venv-site
.PHONY: site
site: $(SITE)/.installed ## build README and docs/ into build/site, a site with search; a warning is an error
	$(SITE)/bin/mkdocs build --strict -f .site/mkdocs.yml
	$(SITE)/bin/python .site/check.py build/site
	@echo "to read it: python3 -m http.server --bind 127.0.0.1 --directory build/site 8000"

$(SITE)/.installed: .site/requirements.txt
	@command -v npm >/dev/null || { echo "npm is missing; install it (Debian, Ubuntu: apt-get install npm)" >&2; exit 2; }
	@sh .ci/make-venv $(SITE) $(PYTHON)
	@$(SITE)/bin/python -m pip --disable-pip-version-check install --quiet -r .site/requirements.txt
	@cd $(SITE) && tar -xzf "$$(npm pack --silent mermaid@11.17.2)" --strip-components=2 package/dist/mermaid.min.js
	@touch $@

bench: setup ## beside Kafka, kfake, a mock and echoes, in one run (ten minutes; two with ARGS=--quick)
	$(PY) bench/run.py $(ARGS)
	$(PY) bench/security.py --quick --without-kafka --json bench/build/security-quick.json --markdown bench/build/security-quick.md

# Each writes its tables to bench/build/NAME.md and its figures to NAME.json; ARGS=--quick shows that it runs.
MORE_BENCHES := storms idle startup growth stalls purgatory neighbours console observe observed_history shared_store fail_over rolling_restart security consumer_heartbeats transactions
.PHONY: bench-more $(MORE_BENCHES:%=bench-%)
bench-more: $(MORE_BENCHES:%=bench-%) ## bench-storms, -idle, -startup, -growth, -stalls, -purgatory, -neighbours, -console, -observe, -observed_history, -shared_store, -fail_over, -rolling_restart, -security, -consumer_heartbeats, -transactions: all (an hour)

$(MORE_BENCHES:%=bench-%): setup
	$(PY) bench/$(@:bench-%=%).py --markdown bench/build/$(@:bench-%=%).md $(ARGS)

# Not with the others: it takes half an hour by itself, and Java, Go and Node.
.PHONY: bench-rebalances
bench-rebalances: setup ## real clients beside Kafka: how soon a join, a leave and a crash are over (half an hour)
	$(PY) bench/rebalance_speed.py --markdown bench/build/rebalances.md $(ARGS)

.PHONY: bench-rebalances-consumer
bench-rebalances-consumer: setup ## the same for members of the consumer protocol (ten minutes)
	$(PY) bench/rebalance_speed.py --consumer --repetitions 12 --markdown bench/build/rebalances-consumer.md $(ARGS)

# Not with the others: it takes Java and Maven.
.PHONY: bench-tables
bench-tables: setup ## coordinator tables at a real Kafka under load, killed again and again: each commit once (ten minutes)
	$(PY) bench/tables_stream.py --markdown bench/build/tables_stream.md $(ARGS)

# Not with the others: it takes Java, Go and Node.
.PHONY: bench-testing
bench-testing: setup ## servers for tests side by side, from start to first assignment, in four languages (ten minutes)
	$(PY) bench/testing_tools.py --markdown bench/build/testing.md $(ARGS)

# Not with the others: they take Spark, and real clients.
.PHONY: bench-pipeline bench-whatif whatif-live
bench-pipeline: setup ## compaction, history, SQL, tables, report and whatif as a cluster grows (ten minutes; needs Java)
	$(PY) bench/pipeline.py --markdown bench/build/pipeline.md $(ARGS)

bench-whatif: setup ## coordinator whatif: CPU of a run, runs a second with Spark (three minutes; all 500,000 runs with ARGS=--full)
	$(PY) bench/whatif.py --markdown bench/build/whatif.md $(ARGS)

whatif-live: setup ## predictions of coordinator whatif beside live runs of librdkafka (five minutes)
	$(PY) bench/whatif_live.py --markdown bench/build/whatif_live.md $(ARGS)

.PHONY: sparkbench
sparkbench: setup ## compaction, mode by mode beside the plain implementation (about a quarter of an hour; needs Java)
	$(PY) bench/compaction.py $(ARGS)

.PHONY: sim mutants
sim: setup ## nodes and clients in virtual time, with faults: SEED=7341 (or 1-100) STEPS=5000
	$(BIN)/coordinator simulate --seed "$(or $(SEED),1-100)" --steps "$(or $(STEPS),5000)" $(ARGS)
	$(BIN)/coordinator simulate --store shared --seed "$(or $(SEED),1-100)" --steps "$(or $(STEPS),5000)" $(ARGS)

mutants: setup ## does the simulation find known defects? each in a process of its own (five minutes)
	$(PY) -m tests.simulation.mutants $(ARGS)

.PHONY: clients clients-security clients-transactions clients-migration
clients-migration: setup ## rolling upgrades and downgrades beside Kafka; writes docs/migration-clients.md (about ten minutes)
	$(PY) -m tests.clients.migration $(ARGS)

clients-security: setup ## real clients at listeners with TLS and SASL; writes docs/clients-security.md (about two minutes)
	$(PY) -m tests.clients.security_matrix $(ARGS)

clients-transactions: setup ## transactional producers of eleven clients; writes docs/clients-transactions.md (about four minutes)
	$(PY) -m tests.clients.transactions_matrix $(ARGS)

clients: setup ## real clients of five languages through every scenario; writes docs/clients.md (about eight minutes)
	$(PY) -m tests.clients.matrix $(ARGS)

# Needs what each language needs, Java for a real Kafka, and root for network namespaces.
.PHONY: drop-in
drop-in: setup ## the Kafka tests of other projects, here and at a real Kafka: ARGS="--list", ARGS=Go (about an hour)
	$(PY) -m tests.dropin $(ARGS)

.PHONY: kills
kills: setup ## SIGKILL a daemon under real clients, and look for all it acknowledged: N=300 SEED=1 (about ten minutes)
	$(PY) -m tests.clients.kills --kills "$(or $(N),300)" --seed "$(or $(SEED),1)" $(ARGS)

.PHONY: exactly-once
exactly-once: setup ## process records exactly once with six clients while they and the daemon are killed: KILLS=200 SEED=1 (about ten minutes)
	$(PY) -m tests.clients.exactly_once --kills "$(or $(KILLS),200)" --seed "$(or $(SEED),1)" $(ARGS)

.PHONY: incidents
incidents: setup ## play incidents with real clients; writes docs/incidents.md with the verdicts (a minute)
	$(PY) -m tests.clients.incidents_page $(ARGS)

.PHONY: kafka conformance conformance-transactions interchange incidents-observed corpus
kafka: setup ## fetch a real Apache Kafka and its tools with Maven, into a cache outside the repository
	$(PY) -m tests.conformance.kafka

conformance: setup ## compare with a real Kafka, request by request: SEED=7 (or 1-20) STEPS=500
	$(PY) -m tests.conformance.drive --seed "$(or $(SEED),1)" --steps "$(or $(STEPS),500)" $(ARGS)

conformance-transactions: setup ## the same for transactions: SEED=7 (or 1-20) STEPS=500
	$(PY) -m tests.conformance.transaction_drive --seed "$(or $(SEED),1)" --steps "$(or $(STEPS),500)" $(ARGS)

interchange: setup ## a real Kafka: logs that change their owner, both cleaners, our commands and our engine at it (needs a JDK)
	$(PY) -m pytest -q -n 2 $(TOGETHER) tests/conformance/live_interchange.py tests/conformance/live_cleaner.py \
	  tests/conformance/live_transactions.py tests/conformance/live_transaction_cleaner.py \
	  tests/conformance/live_history.py tests/conformance/live_tables.py tests/conformance/live_share_groups.py \
	  tests/conformance/live_cli.py tests/observe/live_kafka.py \
	  tests/observe/live_secured.py tests/observe/live_incidents.py $(ARGS)
	HYPOTHESIS_PROFILE=brief $(PY) -m pytest -q tests/engine/kafka/live_kit.py tests/engine/kafka/live_fencing.py \
	  tests/engine/kafka/live_transactions.py tests/engine/kafka/live_secured.py tests/engine/kafka/live_tables.py \
	  $(ARGS)

incidents-observed: setup ## twenty incidents, half at a real Kafka; writes docs/incidents-observed.md (a minute; needs a JDK)
	$(PY) -m tests.observe.incidents_page $(ARGS)

corpus: setup ## record again what a real Kafka answers to the scripts that make test replays
	$(PY) -m tests.conformance.corpus $(ARGS)

# The groups are played through the core; seeds 1 to 5 were used to choose thresholds.
.PHONY: lake
lake: setup ## coordinator tables in Delta and Iceberg, killed, with the Spark that has packages for them (eight minutes)
	PYTHONPATH="$$($(PY) -m tests.conformance.spark_release)" $(PY) -m pytest -q tests/conformance/live_lake.py $(ARGS)

.PHONY: report-corpus report-live
report-corpus: setup ## precision and recall of coordinator report on groups with planted causes: SEED="9 10 11" (two minutes)
	$(PY) -m tests.report.score --seeds $(or $(SEED),9 10 11) --mistakes $(ARGS)

report-live: setup ## the same for groups of real clients, at a daemon (two minutes)
	$(PY) -m tests.report.live $(ARGS)

# One target with TARGET=batches; RUNS=1000000 executions of each instead of SECONDS=60.
.PHONY: fuzz fuzz-sessions fuzz-record fuzz-files fuzz-logins
fuzz: $(VENV)/.installed-fuzz ## coverage-guided, each target a minute, two at once: TARGET=batches, SECONDS= or RUNS=, ARGS=--keep
	$(PY) -m tests.fuzz.run $(TARGET:%=--target %) $(SECONDS:%=--seconds %) $(RUNS:%=--runs %) $(ARGS)

fuzz-sessions: setup ## changed sessions of clients against a daemon: SEED=7, RUNS=300 sessions
	$(PY) -m tests.fuzz.sessions --seed "$(or $(SEED),1)" --sessions "$(or $(RUNS),300)" $(ARGS)

fuzz-record: setup ## record the sessions of real clients that fuzz-sessions changes (five minutes; the tools of make clients)
	$(PY) -m tests.fuzz.record $(ARGS)

fuzz-files: setup ## starts on a data directory with one damaged file: SEED=7, RUNS=3000 starts
	$(PY) -m tests.fuzz.start_files --seed "$(or $(SEED),1)" --cases "$(or $(RUNS),3000)" $(ARGS)

fuzz-logins: setup ## frames of strangers to listeners with SASL and TLS: SEED=1, RUNS=1000000 frames (six minutes)
	$(PY) -m tests.fuzz.login_frames --seed "$(or $(SEED),1)" --frames "$(or $(RUNS),1000000)" $(ARGS)

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev
	@$(PIP) -e '.[fuzz]'
	@touch $@

COMPOSE = $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
.PHONY: up down cluster-test container-test ha-test
up: ## the test cluster of docker-compose.yml: three nodes, compaction; clients too with ARGS="--profile clients"
	$(COMPOSE) $(ARGS) up -d --build

down: ## stop the test cluster and remove its data
	$(COMPOSE) --profile clients --profile single --profile ha down -v --remove-orphans

cluster-test: setup ## break that cluster in every way while clients work; needs a container engine (about six minutes)
	$(PY) -m tests.cluster.engine $(ARGS)

container-test: setup ## start the image by Testcontainers in Python, Go and Java, in the place of Kafka's (two minutes; ARGS="--modules node")
	$(PY) -m tests.containers.check $(ARGS)

.PHONY: clients-image
clients-image: setup ## the packages for JavaScript and Go with the server in a container; needs a container engine (a minute)
	$(PY) -m pytest -q tests/packaging/live_image.py $(ARGS)

ha-test: setup ## break nodes that share a PostgreSQL while clients work, and judge; in containers, or as processes without an engine (ARGS="--faults 20 --seed 1")
	$(PY) -m tests.ha.containers $(ARGS)

# In an environment of their own, because quixstreams takes an older confluent-kafka.
EXAMPLES := .venv-examples
.PHONY: examples
examples: $(EXAMPLES)/.installed ## run examples/ with the libraries of all of them
	$(EXAMPLES)/bin/python -m pytest -q examples $(ARGS)

$(EXAMPLES)/.installed: pyproject.toml
	@sh .ci/make-venv $(EXAMPLES) $(PYTHON)
	@$(EXAMPLES)/bin/python -m pip --disable-pip-version-check install --quiet -e '.[examples]'
	@touch $@

# A compiled module beside its source would shadow it, so all of this happens elsewhere: dist/ and a venv of its own.
COMPILED := .venv-compiled
SOURCES = setup.py pyproject.toml $(shell find protocol coordinator -type f ! -name '*.pyc')
.PHONY: wheels binary compiled-venv test-compiled
wheels: dist/.built ## build the plain and the compiled wheel, and the sdist, into dist/ (needs a C compiler; a few minutes)
	@ls dist/*.whl dist/*.tar.gz

binary: dist/coordinator ## build dist/coordinator: the plain build as one file that needs no Python (Linux; half a minute)
	@ls dist/coordinator

compiled-venv: $(COMPILED)/.installed ## make .venv-compiled: the compiled wheel, and the packages of .venv
	@$(COMPILED)/bin/coordinator --version

test-compiled: compiled-venv ## run the tests against the installed, compiled package; some of them with ARGS="tests/group"
	@sh .ci/test-compiled $(COMPILED) $(ARGS)

dist/.built: $(SOURCES) .ci/wheels | $(PY)
	@mkdir -p dist && touch dist/.begun
	@sh .ci/wheels $(PY) dist
	@mv dist/.begun $@ # as old as the build's beginning: what was changed meanwhile is not in it

dist/coordinator: $(SOURCES) .ci/binary/build .ci/binary/entry.py | $(PY)
	@mkdir -p dist && touch dist/.binary-begun
	@sh .ci/binary/build $(PY) $@
	@touch -r dist/.binary-begun $@ && rm dist/.binary-begun # as old as the build's beginning, likewise

$(COMPILED)/.installed: dist/.built $(VENV)/.installed-dev
	@sh .ci/compiled-venv $(VENV) $(COMPILED)
	@touch $@

clean: ## remove every .venv, caches and what was built; ./data stays
	rm -rf $(VENV) $(COMPILED) $(EXAMPLES) $(SITE) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist bench/build tests/torture/build \
	  ./*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the virtual environment: made once, brought up to date when pyproject.toml changes ---

$(VENV)/.installed: pyproject.toml | $(PY)
	@echo "installing the coordinator into $(VENV)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(PY)
	@echo "installing the coordinator and what its tests need into $(VENV)"
	@$(PIP) -e '.[dev,spark]'
	@touch $(VENV)/.installed $@

$(PY):
	@sh .ci/make-venv $(VENV) $(PYTHON)
