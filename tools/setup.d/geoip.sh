# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# The country database, built from Debian's package tor-geoipdb. The package is unpacked and not installed, because it would
# install tor.

geoip_install() {
	local folder=$cache/geoip work
	[ ! -e "$folder/country.mmdb" ] || return 0
	step "Country database (from Debian's tor-geoipdb, CC BY-SA 4.0)"
	work=$(mktemp -d "$cache/geoip.XXXX")
	geoip_download "$work" || {
		rm -rf "$work"
		log_tail
		die "cannot download tor-geoipdb. Run: sudo apt-get update && tools/setup"
	}
	dpkg -x "$work"/tor-geoipdb_*.deb "$work"
	mkdir -p "$folder"
	"$here/geoip/build-database" "$work/usr/share/tor/geoip" "$work/usr/share/tor/geoip6" "$folder/country.mmdb"
	rm -rf "$work"
}

geoip_download() { # geoip_download FOLDER
	(cd "$1" && apt-get -q -o APT::Sandbox::User=root download tor-geoipdb >>"$log" 2>&1) && return 0
	# The machine may have no package lists yet.
	packages_become_root tor-geoipdb
	packages_apt update || true
	(cd "$1" && apt-get -q -o APT::Sandbox::User=root download tor-geoipdb >>"$log" 2>&1)
}
