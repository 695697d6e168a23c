# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The Debian packages of tools/packages.txt.

as_root=()
releases="12 13"

packages_install() { # packages_install GROUP…
	local missing
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	packages_know_release
	step "Debian packages: ${missing[*]}"
	packages_become_root "${missing[*]}"
	packages_keep_services_off
	packages_apt update || true # the next step reports what is missing
	packages_apt install -y --no-install-recommends "${missing[@]}" || {
		log_tail
		die "cannot install all of: ${missing[*]} (no network?)." \
			"Run: sudo apt-get update && sudo apt-get install ${missing[*]}"
	}
	packages_disable_services "${missing[@]}"
}

# A package of the same name on another system can be too old or lack something, which a compiler would tell in its own words.
packages_know_release() {
	local ID=unknown VERSION_ID="" PRETTY_NAME="an unknown system"
	# shellcheck source=/dev/null
	. "${OS_RELEASE:-/etc/os-release}" 2>>"$log" || true
	[[ "$ID" != debian || " $releases " != *" ${VERSION_ID:-none} "* ]] || return 0
	die "this is $PRETTY_NAME. Waymark builds and runs on Debian ${releases// / and }; README.md says what to do elsewhere."
}

packages_missing() { # packages_missing GROUP…: those that are neither installed nor provided by an installed package
	local groups VERSION_ID=""
	groups=$(IFS='|' && echo "$*")
	# shellcheck source=/dev/null
	. "${OS_RELEASE:-/etc/os-release}" 2>>"$log" || true
	comm -23 \
		<(awk -v groups="^($groups)\$" -v here="@${VERSION_ID:-}" '$1 ~ groups && ($3 !~ /^@/ || $3 == here) { print $2 }' "$here/packages.txt" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' |
			sed -n 's/^installed //p' | sed 's/([^)]*)//g' | tr -s ', ' '\n' | sort -u)
}

packages_become_root() {
	if [ "$(id -u)" -eq 0 ]; then
		as_root=(env)
	elif command -v sudo >/dev/null; then
		as_root=(sudo env)
		sudo -v || die "these packages need root: $1. Run: sudo tools/setup"
	else
		die "these packages need root, and there is no sudo: $1. Run as root: apt-get install $1"
	fi
}

# Packages must not start services during their installation: the stack starts its own PostgreSQL and Redis.
packages_keep_services_off() {
	local policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
	[ ! -e "$policy" ] || return 0
	# shellcheck disable=SC2064 # expand now
	trap "${as_root[*]} rm -f '$policy'" EXIT
	printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
	"${as_root[@]}" chmod 755 "$policy"
}

# Disables the services of newly installed packages, so that they do not start with the machine.
packages_disable_services() {
	command -v systemctl >/dev/null || return 0
	local package
	for package in "$@"; do
		case $package in
		postgresql) "${as_root[@]}" systemctl disable postgresql.service >>"$log" 2>&1 || true ;;
		redis-server) "${as_root[@]}" systemctl disable redis-server.service >>"$log" 2>&1 || true ;;
		nginx | haproxy | pgbouncer | rsyslog) "${as_root[@]}" systemctl disable "$package.service" >>"$log" 2>&1 || true ;;
		esac
	done
}

packages_apt() {
	"${as_root[@]}" DEBIAN_FRONTEND=noninteractive \
		apt-get -q -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@" 2>&1 </dev/null |
		tee -a "$log" | packages_progress
}

packages_progress() {
	local line total="" stage="" done=0
	while read -r line; do
		case $line in
		*" newly installed,"*) total=$(sed -E 's/.* ([0-9]+) newly installed.*/\1/' <<<"$line") ;;
		Get:*) [ -z "$total" ] || packages_count fetching ;;
		"Unpacking "*) packages_count unpacking ;;
		"Setting up "*) packages_count "setting up" ;;
		esac
	done
	progress_end
}

packages_count() { # packages_count STAGE: of packages_progress
	if [ "$1" != "$stage" ]; then
		stage=$1 done=0
		stage "$stage: $total packages"
	fi
	done=$((done + 1))
	progress "$stage: $done of $total packages"
}
