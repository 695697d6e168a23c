# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Schemathesis, which tests the API against its OpenAPI description. The versions and checksums are those of
# tests/integration/links-api/contract/requirements.txt, in a virtual environment of Debian's Python.

schemathesis_install() {
	local wanted=$here/../tests/integration/links-api/contract/requirements.txt folder=$cache/schemathesis
	! cmp -s "$wanted" "$folder/requirements.txt" || return 0
	step "Schemathesis (through pip)"
	rm -rf "$folder"
	if ! schemathesis_fetch "$folder" "$wanted"; then
		rm -rf "$folder"
		echo "    cannot download from PyPI: the Schemathesis test of the API will be skipped. Later: tools/setup"
		return 0
	fi
	cp "$wanted" "$folder/requirements.txt"
}

schemathesis_fetch() { # schemathesis_fetch FOLDER REQUIREMENTS
	/usr/bin/python3 -m venv "$1" >>"$log" 2>&1 || return 1
	"$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$2" >>"$log" 2>&1
}
