# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The npm packages of examples/node, for its test. The versions are those of package-lock.json.

node_install() {
	local source=$here/../examples/node folder=$cache/examples-node
	if [ -d "$folder/node_modules" ] && cmp -s "$source/package-lock.json" "$folder/package-lock.json"; then
		return 0
	fi
	step "npm packages of examples/node"
	rm -rf "$folder" "$folder.new"
	mkdir -p "$folder.new"
	cp "$source/package.json" "$source/package-lock.json" "$folder.new"
	if ! (cd "$folder.new" && npm ci --ignore-scripts --no-audit --no-fund --loglevel error >>"$log" 2>&1); then
		echo "    cannot download from npm: the test of examples/node will be skipped. Later: tools/setup"
		return 0
	fi
	mv "$folder.new" "$folder"
}
