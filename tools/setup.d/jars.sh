# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Java programs from Maven: the jars of tools/NAME/pom.xml, verified against tools/NAME/jars.sha256.

kafka_install() {
	jars_install kafka "Apache Kafka (46 MB, through Maven)" "the stack will use the embedded broker" org/apache/kafka
	if [ -e "$cache/kafka/verified" ] && ! "$here/kafka/archive-classes" >>"$log" 2>&1; then
		echo "    cannot archive the classes of Kafka: it will start more slowly. Reason: $log"
	fi
}

shedlock_install() {
	jars_install shedlock "ShedLock (8 MB, through Maven)" "its test will be skipped" net/javacrumbs
}

jars_install() { # jars_install NAME WHAT WITHOUT_IT GROUP
	local checksums=$here/$1/jars.sha256 jars=$cache/$1
	if cmp -s "$checksums" "$jars/verified"; then
		return 0
	fi
	step "$2"
	rm -rf "$jars" "$jars.new"
	if ! jars_fetch "$1" "$jars.new"; then
		echo "    cannot download from Maven: $3. Later: tools/setup"
		return 0
	fi
	if [ "$(jars_checksums "$jars.new")" != "$(cat "$checksums")" ]; then
		diff <(cat "$checksums") <(jars_checksums "$jars.new") >>"$log" || true
		log_tail
		die "the jars of ${2%% (*} do not match tools/$1/jars.sha256 (see $log)." \
			"Run: rm -rf ~/.m2/repository/$4 && tools/setup"
	fi
	cp "$checksums" "$jars.new/verified"
	mv "$jars.new" "$jars"
}

jars_fetch() { # jars_fetch NAME FOLDER
	mkdir -p "$2"
	timeout --foreground 900 mvn -B --strict-checksums -Dmaven.wagon.rto=30000 -f "$here/$1/pom.xml" \
		dependency:copy-dependencies -DoutputDirectory="$2" 2>&1 </dev/null | tee -a "$log" | jars_progress
}

jars_progress() {
	local line fetched=0
	while read -r line; do
		case $line in
		*"Downloaded from"*) fetched=$((fetched + 1)) && progress "fetched $fetched files" ;;
		esac
	done
	progress_end
}

jars_checksums() { # jars_checksums FOLDER
	(cd "$1" && LC_ALL=C sha256sum -- *.jar)
}

jars_write_checksums() { # jars_write_checksums NAME, after a change of its pom.xml
	local folder
	folder=$(mktemp -d)
	jars_fetch "$1" "$folder" || die "cannot download from Maven"
	jars_checksums "$folder" >"$here/$1/jars.sha256"
	rm -rf "$folder"
	git -C "$here" diff --stat -- "$1/jars.sha256"
}
