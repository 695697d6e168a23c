# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Apache Kafka from Maven: the jars of tools/kafka/pom.xml, verified against tools/kafka/jars.sha256.

kafka_install() {
	local checksums=$here/kafka/jars.sha256 jars=$cache/kafka
	cmp -s "$checksums" "$jars/verified" || kafka_download "$checksums" "$jars"
	if [ -e "$jars/verified" ] && ! "$here/kafka/archive-classes" >>"$log" 2>&1; then
		echo "    cannot archive the classes of Kafka: it will start more slowly. Reason: $log"
	fi
}

kafka_download() { # kafka_download CHECKSUMS FOLDER
	step "Apache Kafka (46 MB, through Maven)"
	rm -rf "$2" "$2.new"
	if ! kafka_fetch "$2.new"; then
		echo "    cannot download from Maven: the stack will use the embedded broker. Later: tools/setup"
		return 0
	fi
	if ! diff "$1" <(kafka_checksums "$2.new") >>"$log"; then
		log_tail
		die "the jars of Apache Kafka do not match tools/kafka/jars.sha256 (see $log)." \
			"Run: rm -rf ~/.m2/repository/org/apache/kafka && tools/setup"
	fi
	cp "$1" "$2.new/verified"
	mv "$2.new" "$2"
}

kafka_fetch() { # kafka_fetch FOLDER
	mkdir -p "$1"
	timeout --foreground 900 mvn -B --strict-checksums -Dmaven.wagon.rto=30000 -f "$here/kafka/pom.xml" \
		dependency:copy-dependencies -DoutputDirectory="$1" >>"$log" 2>&1 </dev/null
}

kafka_checksums() { # kafka_checksums FOLDER
	(cd "$1" && LC_ALL=C sha256sum -- *.jar)
}

kafka_write_checksums() { # after a change of pom.xml
	local folder
	folder=$(mktemp -d)
	kafka_fetch "$folder" || die "cannot download from Maven"
	kafka_checksums "$folder" >"$here/kafka/jars.sha256"
	rm -rf "$folder"
	git -C "$here" diff --stat -- kafka/jars.sha256
}
