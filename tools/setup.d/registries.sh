# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Packages from npm and PyPI, in the versions and with the checksums of a package-lock.json or a file of requirements. Each set has a
# folder of the cache: with node_modules, or a virtual environment of Debian's Python.

registries_install() { # registries_install NAME FILE OTHERWISE: what happens without them
	local folder=$cache/$1 file=$here/../$2 kept=requirements.txt
	[ "${file##*/}" != package-lock.json ] || kept=package-lock.json
	! cmp -s "$file" "$folder/$kept" || return 0
	step "packages of $2"
	rm -rf "$folder" "$folder.new"
	if ! registries_fetch "$folder" "$file" "$kept" >>"$log" 2>&1; then
		rm -rf "$folder" "$folder.new"
		echo "    cannot download them from npm or PyPI: $3. Later: tools/setup"
	fi
}

# The authorities are also those of a proxy that intercepts TLS, as npm gets them.
registries_fetch() { # registries_fetch FOLDER FILE KEPT: the copy of FILE says that the folder is complete
	if [ "$3" = requirements.txt ]; then
		/usr/bin/python3 -m venv "$1" || return 1
		cat /etc/ssl/certs/ca-certificates.crt "${NODE_EXTRA_CA_CERTS:-/dev/null}" >"$1/authorities" || true
		PIP_CERT="$1/authorities" "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$2" &&
			cp "$2" "$1/$3"
	else
		mkdir "$1.new" &&
			cp "$2" "${2%-lock.json}.json" "$1.new" &&
			(cd "$1.new" && npm ci --ignore-scripts --no-audit --no-fund --loglevel error) &&
			mv "$1.new" "$1"
	fi
}

# uap-core's rules for user agents, which the build embeds in the analytics-consumer. Debian has those of 2022.
user_agents_install() {
	registries_install ua-parser-builtins tools/setup.d/user-agents.txt "the analytics-consumer cannot be built"
}

# tools/lint/migrations runs it.
squawk_install() {
	registries_install squawk tools/lint/requirements.txt "the check of migrations will be skipped"
}
