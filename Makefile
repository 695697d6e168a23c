# The front door. CMake builds (CMakePresets.json), ctest tests; this file only knows what to call.

PROGRAMS := redirector links-api analytics-consumer janitor migrate rebuild-stats waymark-topics embedded-broker

.PHONY: help build demo test test-other check unit one images e2e-images e2e-cluster e2e-spreadsheet e2e-mail e2e-oidc clients lint bench chaos fuzz memcheck format clean test-build
.NOTPARALLEL:

help:
	@echo 'Waymark: short links that report every visit'
	@echo
	@echo '  make demo     set up, build, start everything on this machine and follow a click through it'
	@echo '                DEMO_ONCE=1 ends after the last step, BROKER=embedded does without Apache Kafka'
	@echo '  make build    release binaries in build/release/bin'
	@echo
	@echo '  make unit     unit tests: seconds'
	@echo '  make check    unit, contract, integration and end-to-end tests: minutes'
	@echo '  make test     every test, with sanitizers; this is what continuous integration runs'
	@echo '  make test-other   make test on the other of Debian 12 and 13, in a root of its own (as root); T=PATTERN, or WHAT="demo DEMO_ONCE=1"'
	@echo '  make one T=PATTERN   the tests whose names match, e.g. make one T=outbox (tests/README.md)'
	@echo '  make lint     packages, format, size, clang-tidy, cppcheck, shellcheck, layers, symbols, headers, migrations, protos, asyncapi, openapi, manifests'
	@echo '  make bench    measure (PART=redirect: one part); make chaos, make fuzz, make memcheck (valgrind, ThreadSanitizer): the long runs'
	@echo
	@echo '  make images   build the container images, without a registry; make e2e-images runs Waymark under compose and as systemd units (as root)'
	@echo '  make e2e-cluster   the tests on a Kubernetes cluster of its own, built from Go modules (as root)'
	@echo '  make e2e-mail   mail through a real server, and pictures of each mail (as root)'
	@echo '  make e2e-spreadsheet   LibreOffice Calc reads the CSV that is exported'
	@echo '  make e2e-oidc   people log in by two real OpenID providers'
	@echo '  make clients   clients that generators make of the API description make a journey; C=NAME for one'
	@echo '  make format   rewrite the code in the project'"'"'s format'
	@echo '  make clean    remove build/'

build:
	@tools/setup demo
	@test -f build/release/build.ninja || cmake --preset release
	@cmake --build build/release --target $(PROGRAMS)

demo: build
	@exec tools/demo

test-build:
	@tools/setup test
	@test -f build/dev/build.ninja || cmake --preset dev
	@cmake --build build/dev

unit: test-build
	@tests/all build/dev -L unit

check: test-build
	@tests/all build/dev -L 'unit|contract|integration|e2e'

test: test-build
	@tests/all build/dev

test-other:
	@tools/setup other
	@tests/other-release $(if $(T),one T='$(T)',$(or $(WHAT),test))

one: test-build
	@tests/all build/dev -R '$(or $(T),$(error which? make one T=PATTERN))'

images:
	@tools/setup images
	@tools/images

e2e-images: images build
	@tools/setup test
	@tests/images/one-machine

e2e-cluster: images
	@tools/setup test
	@tools/setup cluster
	@tests/cluster/run

e2e-spreadsheet: test-build
	@tools/setup spreadsheet
	@tests/all build/dev -R e2e/dashboard/spreadsheet

e2e-mail: test-build
	@tools/setup mail
	@tests/support/needs-browser tests/support/in-own-stack /usr/bin/python3 -B -m pytest -q tests/e2e/mail

e2e-oidc: test-build
	@tools/setup openid
	@tests/all build/dev -R integration/links_api_openid_providers

clients: build
	@tools/setup clients
	@tests/clients/run $(C)

lint:
	@tools/setup lint
	@tools/lint/run

bench: build
	@tools/setup test
	@tools/setup bench
	@cmake --build build/release --target bench_memory bench_flood fold_rollups
	@tests/bench/run $(PART)

chaos: build
	@tools/setup test
	@tests/chaos/run --full
	@tests/model/check

fuzz:
	@tools/setup lint
	@tests/fuzz/run

memcheck:
	@tools/setup lint
	@tests/memcheck/run

format:
	@tools/setup lint
	@tools/lint/format --fix

clean:
	rm -rf build
