# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Swagger UI, the page that shows the API description at /docs. The build includes it in links-api. It runs in browsers with the
# reader's access token, so each file must match reader.sha256.

reader_install() {
	local package=swagger-ui-dist version=5.35.0 folder=$cache/swagger-ui work
	! reader_verify "$folder" || return 0
	step "Swagger UI $version (2 MB, through npm)"
	work=$(mktemp -d "$cache/swagger-ui.XXXX")
	if ! reader_fetch "$work" "$package@$version"; then
		rm -rf "$work"
		echo "    cannot download from npm: /docs of the API will be a plain page. Later: tools/setup"
		return 0
	fi
	if ! reader_verify "$work/node_modules/$package"; then
		rm -rf "$work"
		die "$package@$version from npm does not match tools/setup.d/reader.sha256 (see $log)."
	fi
	rm -rf "$folder"
	mkdir "$folder"
	cp "$work/node_modules/$package"/{swagger-ui.css,swagger-ui-bundle.js,LICENSE,NOTICE} "$folder"
	echo "$version" >"$folder/version"
	rm -rf "$work"
}

reader_verify() { # reader_verify FOLDER
	[ -d "$1" ] && (cd "$1" && sha256sum --check --strict --quiet "$here/setup.d/reader.sha256") >>"$log" 2>&1
}

# Without install scripts: one of the packages would send telemetry.
reader_fetch() { # reader_fetch FOLDER PACKAGE
	command -v npm >>"$log" 2>&1 || return 1
	npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --no-save --loglevel error "$2" >>"$log" 2>&1
}
