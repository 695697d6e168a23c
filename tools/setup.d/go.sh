# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Programs in Go that tests and checks run: kustomize renders deploy/k8s, helm renders the chart of tools/chart. They are built from
# their modules, verified by Go's checksum database. Any Go from 1.19 on works; without one, Debian's package is installed.

kustomize_install() {
	go_install kustomize v5.0.3 sigs.k8s.io/kustomize/kustomize/v5 "the checks of deploy/k8s will be skipped"
}

helm_install() {
	go_install helm v3.11.3 helm.sh/helm/v3/cmd/helm "the test of the Helm chart will be skipped"
}

go_install() { # go_install NAME VERSION PACKAGE CONSEQUENCE
	local folder=$cache/$1
	[ "$(cat "$folder/version" 2>/dev/null)" != "$2" ] || return 0
	command -v go >/dev/null || packages_install go
	step "$1 $2 (through the Go module proxy)"
	if ! go_build "$folder.new" "$3@$2"; then
		rm -rf "$folder.new"
		echo "    cannot build it: $4. Later: tools/setup"
		return 0
	fi
	echo "$2" >"$folder.new/version"
	rm -rf "$folder"
	mv "$folder.new" "$folder"
}

go_build() { # go_build FOLDER PACKAGE@VERSION
	rm -rf "$1"
	mkdir -p "$1"
	GOPATH=$1/go GOCACHE=$1/go/cache GOBIN=$1 GOFLAGS=-modcacherw GOTOOLCHAIN=local CGO_ENABLED=0 go install "$2" >>"$log" 2>&1 || return 1
	rm -rf "$1/go"
}
