# People and CI use the same recipes. `make test` is what CI runs.

.PHONY: test check fmt bless bench validate docs compare-docs

CARGO ?= cargo

## Everything that CI runs: formatting, lints, documentation, tests, and the papers' experiments.
test: check
	$(CARGO) test --workspace --quiet
	$(CARGO) run --release --quiet -- reproduce --quiet --format csv

## Formatting, lints, documentation.
check:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

## Formats the code.
fmt:
	$(CARGO) fmt

## Accepts the present output as the new snapshots; look at the difference before committing it.
bless:
	INSTA_UPDATE=always INSTA_FORCE_PASS=1 $(CARGO) test --workspace --quiet
	git --no-pager diff --stat

## Speed, side by side with ns-2 where it is installed, and that the per-packet path allocates nothing.
bench:
	$(CARGO) build --release --quiet
	$(CARGO) test --release --quiet --package segue-sim --test allocations
	bench/run.sh
	bench/scaling.sh

## Runs ns-2 (Debian package ns2) again and compares with the committed values, then ours with them.
validate:
	validation/ns2/regenerate.sh --check
	$(CARGO) test --package segue-sim --test ns2_agreement --test ns2_wireless

## Runs the standing comparison (scenarios/compare) and writes its matrices into docs/compare.md.
compare-docs:
	$(CARGO) run --release --quiet --package segue --example compare_docs

## Builds the API documentation.
docs:
	$(CARGO) doc --workspace --no-deps
