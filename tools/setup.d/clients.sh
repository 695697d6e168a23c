# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The generator of API clients, for tests/e2e/test_generated_clients.py. The versions and checksums are those of its
# package-lock.json.

clients_install() {
	local wanted=$here/../tests/e2e/generated_clients folder=$cache/generated-clients
	! cmp -s "$wanted/package-lock.json" "$folder/package-lock.json" || return 0
	step "generator of API clients (through npm)"
	rm -rf "$folder"
	mkdir -p "$folder"
	cp "$wanted/package.json" "$wanted/package-lock.json" "$folder"
	if ! (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel error) >>"$log" 2>&1; then
		rm -rf "$folder"
		echo "    cannot download from npm: the test of the generated client will be skipped. Later: tools/setup"
	fi
}
