# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# buf, which checks the .proto files; tools/buf/buf runs it.

buf_install() {
	local folder=$cache/buf
	if cmp -s "$here/buf/package-lock.json" "$folder/verified"; then
		return 0
	fi
	step "buf (through npm)"
	rm -rf "$folder"
	mkdir -p "$folder"
	cp "$here/buf/package.json" "$here/buf/package-lock.json" "$folder"
	npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund >>"$log" 2>&1 </dev/null || {
		log_tail
		die "npm cannot fetch @bufbuild/buf. When the network is there, run: tools/setup lint"
	}
	cp "$here/buf/package-lock.json" "$folder/verified"
}
