# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Output for the user. All output of other programs goes to $log.

step() { # step TEXT: announces the next step
	echo "==> $1"
}

progress() { # progress TEXT: shows progress on one line, on a terminal only
	if [ -t 1 ]; then
		printf '\r\033[K    %s' "$1"
	fi
}

stage() { # stage TEXT: the same where there is no terminal, once for a stage of a step
	if [ ! -t 1 ]; then
		echo "    $1"
	fi
}

progress_end() {
	if [ -t 1 ]; then
		printf '\r\033[K'
	fi
}

die() { # die SENTENCE…: reports what is missing and what to run, then exits
	progress_end
	echo "tools/setup: $*" >&2
	exit 1
}

# Without stack frames of JavaScript, which would leave no room for what they are about.
log_tail() {
	grep -vE '^[[:space:]]+at ' "$log" | tail -n 5 | sed 's/^/    | /' >&2
}
