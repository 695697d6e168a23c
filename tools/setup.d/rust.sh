# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# examples/rust, compiled before its test: librdkafka is in it, which takes minutes.

rust_example_install() {
	local source=$here/../examples/rust folder=$cache/examples-rust
	command -v cargo >/dev/null && ! cmp -s "$source/Cargo.lock" "$folder/Cargo.lock" || return 0
	step "packages of examples/rust (from crates.io; compiled for minutes)"
	if cargo build --locked --manifest-path "$source/Cargo.toml" --target-dir "$folder" >>"$log" 2>&1; then
		cp "$source/Cargo.lock" "$folder"
	else
		echo "    cannot build it: the test of examples/rust will be skipped. Later: tools/setup"
	fi
}
