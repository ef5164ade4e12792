# tidegate: what can be made here. `make` says what each target does.

# musl, because a static glibc asks the processor some sixty questions (cpuid) before `main`, and in a virtual
# machine each is a trap: 0.2 ms at every start. Its name lookups need no library at run time either.
STATIC_TARGET := $(shell rustc -vV | sed -n 's/^host: \([^-]*\)-.*/\1-unknown-linux-musl/p')
CARGO  ?= cargo
# Without relocations there are 33 page faults less at every start (docs/benchmarks.md).
STATICALLY := -C target-feature=+crt-static -C relocation-model=static
# ring, which TLS rests on, is C and assembly, and calls nothing of a C library: the system's compiler will do.
export CC_$(subst -,_,$(STATIC_TARGET)) ?= cc
STATIC := target/$(STATIC_TARGET)/release/tidegate

.DEFAULT_GOAL := help
.PHONY: help build demo test lint release clean test-needs bench bench-pid1 bench-health bench-needs static-target empty-root drill drill-build drill-chaos static

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build tidegate and the examples (debug)
	$(CARGO) build --bins --examples

demo: build ## one release with tidegate and one without, side by side (about 20 s)
	@target/debug/examples/demo

test-needs: ## install what the tests need, or say exactly what is missing
	@tests/needs.sh

test: test-needs static ## run every test
	@tests/empty_root.sh target/static/tidegate
	$(CARGO) test

# What the tests put into roots with nothing else in them: the debug binary, linked statically by the toolchain that is there.
static:
	$(CARGO) rustc --bin tidegate -- -C target-feature=+crt-static
	@mkdir -p target/static && cp --remove-destination target/debug/tidegate target/static/tidegate

lint: ## formatting and clippy, warnings are errors
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings

# Fetched with rustup; where Rust came otherwise, it says what is missing.
static-target:
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/$(STATIC_TARGET)" ] || rustup target add $(STATIC_TARGET) || \
	  { echo "release: no $(STATIC_TARGET) here: rustup target add $(STATIC_TARGET), or your system's package of it" >&2; exit 1; }

release: static-target ## the static release binary, for scratch, distroless and Alpine alike
	RUSTFLAGS="$(STATICALLY)" $(CARGO) build --release --bin tidegate --target $(STATIC_TARGET)
	@echo "$(STATIC)"

empty-root: release ## run the release binary from a root with nothing else in it
	@tests/empty_root.sh $(STATIC)

bench: empty-root bench-pid1 bench-inflight bench-health ## measure everything: PID 1 and health side by side with others, polls, the start
	$(CARGO) bench --bench start

bench-health: test-needs ## the health server side by side with tonic-health's and grpcio's
	$(CARGO) bench --bench health

bench-pid1: release bench-needs ## side by side with tini, dumb-init and catatonit (Debian packages); root for orphans
	@python3 benches/pid1.py $(STATIC)

# What is measured against. As root on Debian it is installed.
bench-needs:
	@for other in tini dumb-init catatonit; do \
		command -v $$other >/dev/null || apt-get install -y -qq $$other >/dev/null || exit 1; done

bench-inflight: release test-needs ## the scanner beside other parsers, what polls cost, 20 000 sockets (root, for the descriptors)
	$(CARGO) build --release --manifest-path benches/inflight/Cargo.toml --target-dir target/inflight-bench
	@RUSTFLAGS="$(STATICALLY)" .venv/bin/python benches/inflight.py $(STATIC) target/inflight-bench/release/inflight-bench \
		$(CARGO) bench --quiet --bench exposition --target $(STATIC_TARGET) --

# What the drill is made of: `make drill CALLS=1000000 CONTESTANTS=tidegate BALANCERS=health-checked RATE=2000`
CALLS ?= 0
RATE ?= 150
CONTESTANTS ?= alone,tini,graceful,sleep,sleep-graceful,tidegate
BALANCERS ?= endpoints,health-checked,endpoints-late,client-side,haproxy
CHAOS ?= metrics-hang,too-long,two-at-once,kill,balancer-restart

drill: drill-build ## a rolling restart under load, side by side with what people use today (about 9 min; docs/drill.md)
	@target/release/examples/drill --calls $(CALLS) --rate $(RATE) --contestants $(CONTESTANTS) --balancers $(BALANCERS) --pictures target

drill-chaos: drill-build ## the same under tidegate, with something going wrong in the middle (about 20 s)
	@target/release/examples/drill --rate 40 --baseline 3 --chaos $(CHAOS)

drill-build: test-needs bench-needs
	$(CARGO) build --release --bin tidegate --example library --example web --example drill

clean: ## remove everything that was built or installed here
	$(CARGO) clean
	rm -rf .venv node_modules
