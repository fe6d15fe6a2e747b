# Short names for what contributors and CI run. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help stores setup demo test readers servers standalone package toy python view view-large peers guide site release lint lock format fmt clippy clippy-workspace clippy-others doc deny bench gate miri sanitize fuzz ptx kernels campaign

CARGO ?= cargo
# The build without C codecs, and for the lints also without stores. The other packages join so that
# the libraries have the features that they have in the whole workspace: with others Cargo would
# compile every one of them once more.
LIGHT_CRATES = $(addprefix -p fdconvert-,cli codec store view)
LIGHT = $(LIGHT_CRATES) -p fdconvert-python --no-default-features
# The package for Python has no tests that Cargo could run. What is compiled once more, and computes
# little in these tests, is not optimized.
LIGHT_TESTED = $(LIGHT_CRATES) --no-default-features \
  -p fdconvert-testkit --features fdconvert-cli/stores,fdconvert-testkit/fault \
  $(foreach crate,loader pipeline profile view,--config profile.dev.package.fdconvert-$(crate).opt-level=0)
# The chores, built as `cargo test` builds them: the example brings the features of tests.
BUILD_XTASK = $(CARGO) build --workspace --bin xtask --example fake_driver
RUN_XTASK = \$${CARGO_TARGET_DIR:-target}/debug/xtask
XTASK = $(BUILD_XTASK) --quiet && "$${CARGO_TARGET_DIR:-target}/debug/xtask"
SECONDS_PER_TARGET ?= 60
PART ?=
GATE ?=
KERNEL_IMAGES ?= 100000
CAMPAIGN ?=
SERVERS ?=
# Of the demo.
PROFILE ?= release

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install the C tools that the build needs, or say which are missing.
	@scripts/setup.sh

demo: setup ## Build, then pack, inspect, verify and unpack the sample images.
	$(CARGO) build --profile $(PROFILE) --workspace --bin fdconvert --bin xtask \
	  $(if $(filter dev,$(PROFILE)),--example fake_driver)
	"$${CARGO_TARGET_DIR:-target}/$(PROFILE:dev=debug)/xtask" demo

# PART=fast: the unit and golden tests alone; PART=slow: all others.
test: setup ## Run all tests, also without C codecs; say which were ignored and why.
ifeq ($(PART),fast)
	@scripts/test.sh "$(BUILD_XTASK)" \
	  "$(RUN_XTASK) test --part fast -- --workspace --lib --bins --test command --test house"
else
	@scripts/test.sh "$(BUILD_XTASK)" "$(RUN_XTASK) test $(PART:%=--part %) -- --workspace" \
	  "$(CARGO) test --workspace --doc" \
	  "$(RUN_XTASK) test -- $(LIGHT_TESTED) --lib --test command --test codec" \
	  "$(CARGO) test $(LIGHT_TESTED) --doc" scripts/check-abort.sh
endif

readers: setup ## Let other people's readers read shards of ours (needs python3).
	scripts/check-readers.sh

servers: setup ## Let stores that others wrote judge ours: make servers SERVERS='--only moto --quick'
	$(CARGO) build --quiet --workspace --bin fdconvert --example fake_driver
	$(XTASK) servers $(SERVERS)

standalone: ## Build and run programs outside the workspace; count what the reader's brings.
	scripts/check-standalone.sh

package: ## Package what is published, each against the others (needs no registry).
	$(CARGO) package --workspace --offline --no-verify --allow-dirty --quiet \
	  $(addprefix --exclude fdconvert-,testkit gpu-emul hot-paths python) --exclude xtask

toy: ## Add a format to these sources by a folder and a line, use it, and remove it.
	scripts/check-toy.sh

format: ## Format the code.
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	rustfmt --edition 2024 formats/*/mod.rs xtask/toy/mod.rs

python: setup ## Build the Python package, run its tests, check its stubs (needs pip).
	@scripts/setup.sh --python
	scripts/check-python.sh

view: ## Check the viewer's page: its types, its build, and in a browser what it does (needs npm).
	scripts/check-view.sh

view-large: ## Measure the viewer over a million samples, on disk and in a store (an idle machine; npm).
	scripts/check-view-large.sh $(FOLDER)

stores: ## Serve STORES as S3 does, slowly, and by s3s-fs: make stores STORES=DIR LATENCY=65
	$(XTASK) stores "$(STORES)" --latency $(or $(LATENCY),65) --faults $(or $(FAULTS),0) \
	  $(if $(filter none,$(OTHERS)),,--s3s-fs)

peers: setup ## Measure other loaders beside ours, for docs/benchmarks.md: make peers IMAGES=DIR ROUNDS=5
	scripts/peers.sh $(IMAGES)

guide: ## Run what the README and the guide show.
	$(CARGO) build --quiet --workspace --bin fdconvert --example fake_driver
	$(XTASK) guide

site: doc ## Build the book and the pages of both APIs as one folder, target/site; check its links.
	scripts/make-site.sh

release: setup ## Build what a release consists of into OUT, twice, and compare: make release OUT=DIR
	$(XTASK) release --out "$(OUT)" --verify

lint: setup lock fmt clippy doc deny ## Everything that is checked without running the code.

lock: ## Check that the lock files fit the manifests.
	$(CARGO) metadata --locked --format-version 1 >/dev/null
	$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

# Cargo does not see the modules that the macro of formats/lib.rs declares.
fmt: ## Check the formatting.
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	rustfmt --edition 2024 --check formats/*/mod.rs xtask/toy/mod.rs

clippy: clippy-workspace clippy-others ## Check the code, also without C codecs, without the GPU, and as a reader alone.

clippy-workspace: ## Check the code as the workspace is built.
	$(CARGO) clippy --workspace --all-targets -- -D warnings

clippy-others: ## Check the code as it is built with fewer features.
	$(CARGO) clippy $(LIGHT) --all-targets -- -D warnings
	$(CARGO) clippy -p fdconvert-loader -p fdconvert-store --no-default-features \
	  --features fdconvert-loader/all-formats --lib -- -D warnings
	$(CARGO) clippy -p fdconvert-formats --no-default-features --features beton,wds,mixed,mds,parquet -- -D warnings

doc: ## Check the documentation and its links.
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# The advisories live in a repository of their own, which is not always within reach.
deny: ## Check licences, sources and known advisories (needs cargo-deny).
	$(CARGO) deny check licenses bans sources
	@if $(CARGO) deny fetch db; then \
	  set -x; $(CARGO) deny --offline check advisories; \
	else \
	  echo "advisories: skipped, database not reachable"; \
	fi

bench: setup ## Run the benchmarks.
	$(CARGO) bench

gate: ## Compare instructions of hot paths with those recorded: make gate GATE='--plant 3'
	@scripts/setup.sh --gate
	$(XTASK) gate $(GATE)

miri: ## Run the portable samplers under Miri (needs a nightly toolchain with it).
	$(CARGO) +nightly miri test --package fdconvert-fractal --test miri

sanitize: setup ## Run the JPEG decoder's tests under the address sanitizer.
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address --cfg sanitized" $(CARGO) test \
	  --target "$$(rustc -vV | sed -n 's/^host: //p')" --target-dir target/sanitized \
	  -p fdconvert-jpeg-decode

fuzz: ## Run every fuzz target for SECONDS_PER_TARGET (60).
	@scripts/setup.sh
	$(XTASK) fuzz --seconds $(SECONDS_PER_TARGET)

ptx: ## Check that the GPU's kernels are compiled from their sources (needs pip).
	$(XTASK) ptx --check --report

kernels: ## Run the GPU's kernels on damaged images, on the CPU, with sanitizers.
	$(XTASK) kernels --images $(KERNEL_IMAGES)

campaign: setup ## Kill the command and fail its calls, at every point (CAMPAIGN=--quick: at some).
	$(CARGO) build --quiet --workspace --bin fdconvert --example fake_driver
	$(XTASK) campaign kill $(CAMPAIGN)
	$(XTASK) campaign faults $(CAMPAIGN)
