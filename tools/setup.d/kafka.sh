# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Apache Kafka: the jars of tools/kafka/pom.xml, each with the checksum in tools/kafka/jars.sha256.

kafka_install() {
	local checksums=$here/kafka/jars.sha256 jars=$cache/kafka
	if cmp -s "$checksums" "$jars/verified"; then
		return 0
	fi
	step "Apache Kafka (46 MB, through Maven)"
	rm -rf "$jars" "$jars.new"
	if ! kafka_fetch "$jars.new"; then
		echo "    Maven's store cannot be reached: the stack will use the embedded broker. Later: tools/setup"
		return 0
	fi
	if [ "$(kafka_checksums "$jars.new")" != "$(cat "$checksums")" ]; then
		diff <(cat "$checksums") <(kafka_checksums "$jars.new") >>"$log" || true
		log_tail
		die "the jars of Apache Kafka are not those of tools/kafka/jars.sha256 (see $log)." \
			"Run: rm -rf ~/.m2/repository/org/apache/kafka && tools/setup"
	fi
	cp "$checksums" "$jars.new/verified"
	mv "$jars.new" "$jars"
}

kafka_fetch() { # kafka_fetch FOLDER
	mkdir -p "$1"
	timeout --foreground 900 mvn -B --strict-checksums -Dmaven.wagon.rto=30000 -f "$here/kafka/pom.xml" \
		dependency:copy-dependencies -DoutputDirectory="$1" 2>&1 </dev/null | tee -a "$log" | kafka_progress
}

kafka_progress() {
	local line fetched=0
	while read -r line; do
		case $line in
		*"Downloaded from"*) fetched=$((fetched + 1)) && progress "fetched $fetched files" ;;
		esac
	done
	progress_end
}

kafka_checksums() { # kafka_checksums FOLDER
	(cd "$1" && LC_ALL=C sha256sum -- *.jar)
}

kafka_write_checksums() { # after a change of pom.xml
	local folder
	folder=$(mktemp -d)
	kafka_fetch "$folder" || die "Maven's store cannot be reached"
	kafka_checksums "$folder" >"$here/kafka/jars.sha256"
	rm -rf "$folder"
	git -C "$here" diff --stat -- kafka/jars.sha256
}
