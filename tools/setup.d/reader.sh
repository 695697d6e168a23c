# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Swagger UI, the page that shows the API description at /docs. The build includes it in links-api. It runs in browsers with the
# reader's access token, so each file must match reader.sha256, whatever tools/npm/swagger-ui says.

reader_install() {
	local package folder=$cache/swagger-ui fetched
	! reader_verify "$folder" || return 0
	step "Swagger UI (2 MB, through npm)"
	if ! fetched=$("$here/npm/install" swagger-ui 2>>"$log"); then
		echo "    cannot download from npm: /docs of the API will be a plain page. Later: tools/setup"
		return 0
	fi
	package=$fetched/node_modules/swagger-ui-dist
	reader_verify "$package" || die "Swagger UI from npm does not match tools/setup.d/reader.sha256 (see $log)."
	rm -rf "$folder"
	mkdir "$folder"
	cp "$package"/{swagger-ui.css,swagger-ui-bundle.js,LICENSE,NOTICE} "$folder"
	sed -n 's/^  "version": "\(.*\)",$/\1/p' "$package/package.json" >"$folder/version"
}

reader_verify() { # reader_verify FOLDER
	[ -d "$1" ] && (cd "$1" && sha256sum --check --strict --quiet "$here/setup.d/reader.sha256") >>"$log" 2>&1
}
