# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# kustomize, which renders deploy/k8s for the checks. It is built from its Go module, verified by Go's checksum database. Any Go
# from 1.19 on works; without one, Debian's package is installed.

kustomize_version=v5.0.3

kustomize_install() {
	local folder=$cache/kustomize
	[ "$(cat "$folder/version" 2>/dev/null)" != $kustomize_version ] || return 0
	command -v go >/dev/null || packages_install go
	step "kustomize $kustomize_version (through the Go module proxy)"
	if ! kustomize_build "$folder.new"; then
		rm -rf "$folder.new"
		echo "    cannot build it: the checks of deploy/k8s will be skipped. Later: tools/setup"
		return 0
	fi
	rm -rf "$folder"
	mv "$folder.new" "$folder"
}

kustomize_build() { # kustomize_build FOLDER
	rm -rf "$1"
	mkdir -p "$1"
	GOPATH=$1/go GOCACHE=$1/go/cache GOBIN=$1 GOFLAGS=-modcacherw GOTOOLCHAIN=local CGO_ENABLED=0 \
		go install "sigs.k8s.io/kustomize/kustomize/v5@$kustomize_version" >>"$log" 2>&1 || return 1
	rm -rf "$1/go"
	echo $kustomize_version >"$1/version"
}
