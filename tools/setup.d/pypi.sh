# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Packages from PyPI, each in a virtual environment of Debian's Python. Versions and checksums are those of a
# requirements.txt beside the test, or here.

pypi_install() { # pypi_install FOLDER REQUIREMENTS TITLE OTHERWISE: what happens without it
	local folder=$cache/$1 wanted=$here/../$2
	! cmp -s "$wanted" "$folder/requirements.txt" || return 0
	step "$3 (through pip)"
	rm -rf "$folder"
	if ! pypi_fetch "$folder" "$wanted"; then
		rm -rf "$folder"
		echo "    cannot download from PyPI: $4"
		return 0
	fi
	cp "$wanted" "$folder/requirements.txt"
}

# The authorities are also those of a proxy that intercepts TLS, as npm gets them.
pypi_fetch() { # pypi_fetch FOLDER REQUIREMENTS
	/usr/bin/python3 -m venv "$1" >>"$log" 2>&1 || return 1
	cat /etc/ssl/certs/ca-certificates.crt "${NODE_EXTRA_CA_CERTS:-/dev/null}" >"$1/authorities" 2>>"$log" || true
	PIP_CERT="$1/authorities" "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$2" >>"$log" 2>&1
}

# uap-core's rules for user agents, which the build embeds in the analytics-consumer. Debian has those of 2022.
user_agents_install() {
	pypi_install ua-parser-builtins tools/setup.d/user-agents.txt "Rules for user agents" \
		"the analytics-consumer cannot be built. Later: tools/setup"
}

# It tests the API against its OpenAPI description.
schemathesis_install() {
	pypi_install schemathesis tests/integration/links-api/contract/requirements.txt Schemathesis \
		"the Schemathesis test of the API will be skipped. Later: tools/setup"
}

# tests/e2e/test_examples.py runs the subscribers in Python with it.
examples_install() {
	pypi_install examples-python examples/python/requirements.txt "packages of the examples in Python" \
		"the tests of the examples in Python will be skipped. Later: tools/setup"
}

# It starts deploy/compose/compose.yaml in tests/images/one-machine.
compose_install() {
	pypi_install podman-compose tests/images/requirements.txt podman-compose \
		"the test of compose.yaml will be skipped. Later: tools/setup images"
}

# tools/lint/migrations runs it.
squawk_install() {
	pypi_install squawk tools/lint/requirements.txt squawk "the check of migrations will be skipped. Later: tools/setup"
}

# tests/integration/links-api/test_traces.py reads spans with it.
otlp_install() {
	pypi_install opentelemetry-proto tests/integration/links-api/traces/requirements.txt "OpenTelemetry's messages" \
		"the test of spans will be skipped. Later: tools/setup"
}
