# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# podman-compose, which starts deploy/compose/compose.yaml in tests/images/one-machine.

compose_version=1.6.0

compose_install() {
	local folder=$cache/podman-compose
	[ "$(cat "$folder/version" 2>/dev/null)" != $compose_version ] || return 0
	step "podman-compose $compose_version (through pip)"
	rm -rf "$folder"
	if ! compose_fetch "$folder"; then
		rm -rf "$folder"
		echo "    cannot download from PyPI: the test of compose.yaml will be skipped. Later: tools/setup images"
	fi
}

compose_fetch() { # compose_fetch FOLDER
	/usr/bin/python3 -m venv "$1" >>"$log" 2>&1 || return 1
	"$1/bin/pip" install --quiet --disable-pip-version-check --no-deps "podman-compose==$compose_version" python-dotenv==1.2.4 PyYAML==6.0.3 >>"$log" 2>&1 || return 1
	echo $compose_version >"$1/version"
}
