# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Programs in Go that tests and checks run: kustomize renders deploy/k8s, helm renders deploy/charts, kubeconform and kube-score check
# both, oasdiff compares docs/api/openapi.yaml with its baseline. They are built from their modules, verified by Go's checksum database.

go_version=1.26.8
go=go
# The oldest Kubernetes that the manifests are for, and the operators whose kinds they use.
schema_modules=(k8s.io/kubernetes@v1.30.0 github.com/kedacore/keda/v2@v2.14.0
	github.com/prometheus-operator/prometheus-operator@v0.74.0 sigs.k8s.io/gateway-api@v1.2.1)

kustomize_install() {
	go_install kustomize v5.0.3 sigs.k8s.io/kustomize/kustomize/v5 "the checks of deploy/k8s will be skipped"
}

oasdiff_install() {
	go_install oasdiff v1.37.0 github.com/oasdiff/oasdiff "make lint cannot compare docs/api/openapi.yaml with its baseline"
}

# kubeconform checks manifests by schemas that are made from the modules which define the kinds.
manifest_checks_install() {
	local folder=$cache/kubernetes-schemas without="the checks of deploy/k8s will be skipped"
	kustomize_install
	go_install helm v3.11.3 helm.sh/helm/v3/cmd/helm "$without"
	go_install kubeconform v0.6.7 github.com/yannh/kubeconform/cmd/kubeconform "$without"
	go_install kube-score v1.20.0 github.com/zegl/kube-score/cmd/kube-score "$without"
	[ "$(cat "$folder/version" 2>/dev/null)" != "${schema_modules[*]}" ] || return 0
	step "schemas of Kubernetes (30 MB, through the Go module proxy)"
	if ! go_find || ! schemas_make "$folder.new"; then
		rm -rf "$folder.new"
		echo "    cannot make them: $without. Later: tools/setup"
		return 0
	fi
	echo "${schema_modules[*]}" >"$folder.new/version"
	rm -rf "$folder"
	mv "$folder.new" "$folder"
}

schemas_make() { # schemas_make FOLDER
	local modules
	rm -rf "$1"
	mkdir -p "$1"
	mapfile -t modules < <(GOPATH=$1/go go_unpack "${schema_modules[@]}")
	[ ${#modules[@]} -eq ${#schema_modules[@]} ] || return 1
	"$here/setup.d/kubernetes-schemas" "$1" "${modules[@]}" >>"$log" 2>&1 || return 1
	rm -rf "$1/go"
}

go_install() { # go_install NAME VERSION PACKAGE CONSEQUENCE
	local folder=$cache/$1
	[ "$(cat "$folder/version" 2>/dev/null)" != "$2" ] || return 0
	step "$1 $2 (through the Go module proxy)"
	if ! go_find || ! go_build "$folder.new" "$3@$2"; then
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
	GOPATH=$1/go GOCACHE=$1/go/cache GOBIN=$1 GOFLAGS=-modcacherw GOTOOLCHAIN=local CGO_ENABLED=0 "$go" install "$2" >>"$log" 2>&1 || return 1
	rm -rf "$1/go"
}

go_unpack() { # go_unpack MODULE@VERSION...: prints the folder of each
	GOFLAGS=-modcacherw GOTOOLCHAIN=local "$go" mod download -json "$@" 2>>"$log" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'
}

# Sets go to a Go that is new enough. Debian's is not; it downloads a newer one, which is a module too.
go_find() {
	local folder
	command -v go >/dev/null || packages_install go
	[ "$go" = go ] || return 0
	[ "$(printf '%s\n' "$go_version" "$(go version | sed 's/.*go\([0-9.]*\) .*/\1/')" | sort -V | head -n 1)" != "$go_version" ] || return 0
	folder=$(GOPATH=$cache/go go_unpack "golang.org/toolchain@v0.0.1-go$go_version.linux-amd64")
	[ -n "$folder" ] || return 1
	chmod -R u+x "$folder/bin" "$folder/pkg/tool"
	go=$folder/bin/go
}
