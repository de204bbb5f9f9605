# `make up` to use it, `make test` to check it. Everything needed beyond a Rust toolchain and a C
# compiler is installed by the targets that need it, or they say what is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PORT ?= 3000
DATA := .forge
# How long `make soak` loads, kills and cuts off, in seconds.
DURATION ?= 600
BENCH ?=
BINARIES := forge-hub forge-agent queuectl
FAULTS := fault-ack-early fault-no-fencing fault-sync-normal
# What tests use beyond the build: a program and the Debian package that has it.
TEST_TOOLS := strace:strace python3:python3 perl:perl ip:iproute2 prlimit:util-linux setsid:util-linux mount:mount mkfs.ext4:e2fsprogs \
  chromium:chromium shellcheck:shellcheck mmdebstrap:mmdebstrap systemd-analyze:systemd curl:curl tmux:tmux jq:jq
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)
# Long or timing-sensitive tests, which prove nothing about coverage and would be slow under it.
HEAVY := package(forge-tests) and test(/^(crash|controls|deploy|hostile|sync_order|agent::floods|queuectl::sharing)::/)

.PHONY: help up test lint unit faults browser screenshots web generated bench soak record coverage fmt clean cargo tools \
  dist deny reset fresh shell

help:
	@echo 'make up         build hub and agent, start both on this machine (port $(PORT)), run a sample job'
	@echo 'make test       format, lints, all tests, generated files up to date'
	@echo 'make browser    only the tests of the dashboard in a real browser'
	@echo 'make screenshots take the pictures in docs/screenshots anew'
	@echo 'make bench      print speed and size figures (BENCH="--quick" for a minute of them)'
	@echo 'make soak       load, kill and cut off a small fleet for DURATION=$(DURATION) seconds, and watch its memory'
	@echo 'make record     record what agent and hub of this version say, for the tests of later versions'
	@echo 'make coverage   print line coverage; engine and store must have 90 %'
	@echo 'make dist       build what is given to others into dist/: programs, checksums, SBOM, image context'
	@echo 'make deny       look for known weaknesses, licences and crates that may not be used'
	@echo 'make fresh      prove that make up works on a bare Debian (needs root; about ten minutes)'
	@echo 'make reset      stop what make up started and remove its data ($(DATA))'
	@echo 'make fmt        format the code'
	@echo 'make clean      remove what was built (not the data in $(DATA))'

cargo:
	@command -v cargo >/dev/null || { \
	  echo 'cargo is missing. Install Rust from https://rustup.rs and try again.' >&2; exit 1; }

up: cargo
	@if (exec 3<>/dev/tcp/127.0.0.1/$(PORT)) 2>/dev/null; then \
	  echo 'Port $(PORT) is taken. Stop what listens there, or choose another: make up PORT=3001' >&2; exit 1; fi
	@cargo build --release --bin forge-hub --bin forge-agent
	@PORT=$(PORT) exec scripts/up

test: tools lint faults unit browser web generated

tools: cargo
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@missing=; for pair in $(TEST_TOOLS); do \
	  command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; \
	done; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get install -y --no-install-recommends $$missing || \
	      (apt-get update && apt-get install -y --no-install-recommends $$missing) || true; \
	  fi; \
	  for pair in $(TEST_TOOLS); do \
	    command -v $${pair%%:*} >/dev/null || \
	      echo "$${pair%%:*} is missing (package $${pair##*:}): tests that use it are skipped or fail." >&2; \
	  done; \
	fi

lint: cargo shell
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings

shell:
	@if command -v shellcheck >/dev/null; then \
	  shellcheck deploy/install.sh scripts/up scripts/reset scripts/dist scripts/debian-root scripts/fresh .ci/run; \
	else echo 'SKIPPED: the check of shell scripts, because shellcheck is missing.' >&2; fi

# What tests drive. Always of the whole workspace: to build a part of it would build the dependencies again, with
# the features that this part needs.
BUILD := cargo build --workspace $(addprefix --bin ,$(BINARIES))

# Hubs that break a promise on purpose, for the tests that prove the checkers notice. Built into the
# ordinary target folder, so that all dependencies are shared, and the sound hub last.
faults: cargo
	@mkdir -p target/faults
	@for fault in $(FAULTS); do \
	  cargo build --workspace --bin forge-hub --features forge-hub/$$fault; \
	  cp -f target/debug/forge-hub target/faults/forge-hub-$$fault; \
	done
	$(BUILD)

unit: cargo
	$(BUILD)
ifneq ($(NEXTEST),)
	cargo nextest run --workspace
	cargo test --workspace --doc
else
	cargo test --workspace
endif

# The dashboard of the real hub in a real browser, with a real agent.
browser screenshots: cargo
	@if ! command -v chromium >/dev/null; then \
	  echo 'SKIPPED: the tests in a real browser, because chromium is missing. Install the Debian package chromium.' >&2; \
	else \
	  $(BUILD) && \
	  cd dashboard/web && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm run --silent $@; \
	fi

# The dashboard's own checks. Packages are fetched by the build of its crate, which `lint` has done.
web:
	@command -v npm >/dev/null || { \
	  echo 'npm is missing: install Node.js 20.19 or newer, or check the rest with: make lint faults unit' >&2; exit 1; }
	@cd dashboard/web && { [ -d node_modules ] || npm ci --no-audit --no-fund; }
	cd dashboard/web && npm run --silent check && npm run --silent build -- --logLevel warn && npm run --silent budget

# Tests rewrite what is generated; this catches what was never committed.
generated:
	@[ ! -d docs ] || { git diff --exit-code -- docs && [ -z "$$(git status --porcelain -- docs)" ]; } || { \
	  echo 'Files in docs/ were generated anew: commit them.' >&2; exit 1; }

bench: cargo
	@cargo build --release -p forge-hub -p forge-agent -p forge-cli -p forge-bench
	@target/release/forge-bench $(BENCH)

# A hub and two agents that are killed, cut off and loaded.
soak: cargo
	cargo build --release --workspace $(addprefix --bin ,$(BINARIES))
	DURATION=$(DURATION) cargo test --release --workspace --test it -- --ignored --exact --nocapture --test-threads 1 \
	  soak::fleet_keeps_its_promises_for_as_long_as_it_is_told

# What agent and hub of this version say to each other, for the tests of later versions.
record: cargo
	$(BUILD)
	cargo test --workspace --test it -- --ignored --exact --nocapture versions::record_this_version

dist: cargo
	@scripts/dist

deny: cargo
	@if ! command -v cargo-deny >/dev/null; then \
	  echo 'SKIPPED: cargo-deny is missing. To have it: cargo install --locked cargo-deny' >&2; \
	else \
	  cargo deny check bans licenses sources; \
	  if cargo deny fetch db >/dev/null 2>&1; then cargo deny check --disable-fetch advisories; \
	  else echo 'SKIPPED: known weaknesses, because their database cannot be fetched.' >&2; fi; \
	fi

fresh:
	@scripts/fresh

reset:
	@scripts/reset

coverage: cargo
	@HEAVY='$(HEAVY)' scripts/coverage

fmt: cargo
	cargo fmt

clean: cargo
	cargo clean
