# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The generators of API clients, for tests/e2e/test_generated_clients.py. The versions and checksums are those of its
# package-lock.json and requirements.txt.

clients_install() {
	local wanted=$here/../tests/e2e/generated_clients folder=$cache/generated-clients
	if cmp -s "$wanted/package-lock.json" "$folder/package-lock.json" &&
		cmp -s "$wanted/requirements.txt" "$folder/requirements.txt"; then
		return 0
	fi
	step "generators of API clients (through npm and pip)"
	rm -rf "$folder"
	if ! clients_fetch "$folder" "$wanted"; then
		rm -rf "$folder"
		echo "    cannot download from npm or PyPI: the test of generated clients will be skipped. Later: tools/setup"
		return 0
	fi
	cp "$wanted/requirements.txt" "$folder"
}

clients_fetch() { # clients_fetch FOLDER WANTED
	mkdir -p "$1"
	cp "$2/package.json" "$2/package-lock.json" "$1"
	(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel error) >>"$log" 2>&1 || return 1
	pypi_fetch "$1/python" "$2/requirements.txt"
}
