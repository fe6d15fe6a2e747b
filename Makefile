# Short names for what contributors and CI run. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help stores setup demo test readers aarch64 servers standalone package toy python trainers view view-large peers guide site release nightly check test-light lint lock format fmt clippy clippy-workspace clippy-others doc deny bench gate platforms miri sanitize fuzz ptx kernels campaign

CARGO ?= cargo
# The build without C codecs, and for the lints also with a command without stores. The other packages
# and the client of stores join so that the libraries have the features that they have in the whole
# workspace: with others Cargo would compile every one of them once more.
LIGHT_CRATES = $(addprefix -p fdconvert-,cli codec view)
LIGHT = $(LIGHT_CRATES) -p fdconvert-python --no-default-features --features fdconvert-storage/stores
# The package for Python has no tests that Cargo could run. What is compiled once more, and computes
# little in these tests, is not optimized.
LIGHT_TESTED = $(LIGHT_CRATES) --no-default-features \
  -p fdconvert-testkit --features fdconvert-cli/parquet,fdconvert-cli/stores,fdconvert-testkit/fault \
  $(foreach crate,loader pipeline profile view,--config profile.dev.package.fdconvert-$(crate).opt-level=0)
# The chores, built as `cargo test` builds them: the example brings the features of tests.
BUILD_XTASK = $(CARGO) build --workspace --bin xtask --example fake_driver
RUN_XTASK = \$${CARGO_TARGET_DIR:-target}/debug/xtask
XTASK = $(BUILD_XTASK) --quiet && "$${CARGO_TARGET_DIR:-target}/debug/xtask"
SECONDS_PER_TARGET ?= 60
KERNEL_IMAGES ?= 100000
CAMPAIGN ?=
SERVERS ?=
# Of the demo.
PROFILE ?= release

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install the C tools that the build needs, or say which are missing.
	@scripts/setup.sh

# Without what takes longest to compile and the tour does not need; from the profile dev, the build of
# the tests.
demo: setup ## Build, then pack, inspect, verify and unpack the sample images.
	$(CARGO) build --profile $(PROFILE) --bin fdconvert $(if $(filter dev,$(PROFILE)), \
	  --workspace --example fake_driver,-p fdconvert-cli --no-default-features --features turbo)
	scripts/demo.sh "$${CARGO_TARGET_DIR:-target}/$(PROFILE:dev=debug)/fdconvert" \
	  "$${CARGO_TARGET_DIR:-target}/demo"
	@$(if $(filter dev,$(PROFILE)),:,echo "This build has no stores (s3://), Parquet and viewer; \
	  cargo install --path . --locked has them.")

test: setup ## Run all tests; say which were ignored and why.
	@scripts/test.sh "$(BUILD_XTASK)" "$(RUN_XTASK) test -- --workspace" \
	  "$(CARGO) test --workspace --doc" scripts/check-abort.sh

test-light: setup ## Run the tests that say something of the build without C codecs.
	@scripts/test.sh "$(BUILD_XTASK)" \
	  "$(RUN_XTASK) test -- $(LIGHT_TESTED) --lib --test command --test codec" \
	  "$(CARGO) test $(LIGHT_TESTED) --doc"

check: setup fmt ## Check one package after an edit: make check CRATE=loader
	$(CARGO) clippy -p fdconvert-$(CRATE) --all-targets -- -D warnings
	$(CARGO) test -p fdconvert-$(CRATE)

nightly: ## Run what .ci/run runs, and what takes longer: once before a release.
	.ci/nightly

readers: setup ## Let other people's readers read shards of ours (needs python3).
	scripts/check-readers.sh

aarch64: setup ## Run the tests of decoders, resizes and the loader on an emulated aarch64.
	scripts/check-aarch64.sh

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

trainers: ## Run the programs of examples/trainers, killed and resumed, after make python (needs pip; 4 GB).
	scripts/check-trainers.sh

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

release: setup ## Build wheels, the command and the source package into OUT: make release OUT=DIR
	scripts/release.sh "$(OUT)"

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
	$(CARGO) clippy -p fdconvert-loader --no-default-features \
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

gate: ## Compare instructions of hot paths with those of a commit: make gate BASE=HEAD~3
	@scripts/setup.sh --gate
	scripts/gate.sh

platforms: ## Check that the command and the Python package compile for macOS and Windows (needs pip).
	@scripts/setup.sh --platforms
	scripts/check-platforms.sh

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
