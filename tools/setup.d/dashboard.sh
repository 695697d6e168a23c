# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The dashboard, which the build includes in links-api: web/dashboard/dist, from npm packages in the versions of its lock.

dashboard_install() {
	local source=$here/../web/dashboard wanted
	wanted=$(dashboard_fingerprint "$source")
	if [ -e "$source/dist/index.html" ] && [ "$(cat "$source/.built" 2>/dev/null)" = "$wanted" ]; then
		return 0
	fi
	step "Dashboard (through npm)"
	if ! dashboard_packages "$source"; then
		echo "    cannot download from npm: /app/ of the API will be a plain page. Later: tools/setup"
		return 0
	fi
	if ! (cd "$source" && npm run --silent build >>"$log" 2>&1); then
		log_tail
		die "the dashboard does not build (see $log). Run: cd web/dashboard && npm run build"
	fi
	echo "$wanted" >"$source/.built"
}

# Of everything that the build reads: its sources, and the API description from which it has its types.
dashboard_fingerprint() { # dashboard_fingerprint FOLDER
	(cd "$1" && find . ../../docs/api/openapi.yaml -type f -not -path './node_modules/*' -not -path './dist/*' \
		-not -path './src/generated/*' -not -name .built -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
}

dashboard_packages() { # dashboard_packages FOLDER
	! cmp -s "$1/package-lock.json" "$1/node_modules/.lock" || return 0
	command -v npm >>"$log" 2>&1 || return 1
	(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel error >>"$log" 2>&1) || return 1
	cp "$1/package-lock.json" "$1/node_modules/.lock"
}
