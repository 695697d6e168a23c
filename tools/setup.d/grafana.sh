# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Grafana's own description of dashboards (the SDK of its foundation), which tests/contract/dashboards.py compares deploy/grafana with.

grafana_version='1769699998!10.1.0'

grafana_install() {
	local folder=$cache/grafana-sdk
	[ "$(cat "$folder/version" 2>/dev/null)" != "$grafana_version" ] || return 0
	step "Grafana's description of dashboards (through pip)"
	rm -rf "$folder"
	if ! grafana_fetch "$folder"; then
		rm -rf "$folder"
		echo "    cannot download from PyPI: the schema of dashboards will not be checked. Later: tools/setup"
	fi
}

grafana_fetch() { # grafana_fetch FOLDER
	/usr/bin/python3 -m venv "$1" >>"$log" 2>&1 || return 1
	"$1/bin/pip" install --quiet --disable-pip-version-check --no-deps "grafana-foundation-sdk==$grafana_version" >>"$log" 2>&1 || return 1
	echo "$grafana_version" >"$1/version"
}
