# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# Output for the user. All output of other programs goes to $log.

step() { # step TEXT: announces the next step
	printf '\033[1m==>\033[0m %s\n' "$1" | plain_unless_terminal
}

progress() { # progress TEXT: shows progress on one line, on a terminal only
	if [ -t 1 ]; then
		printf '\r\033[K    %s' "$1"
	fi
}

progress_end() {
	if [ -t 1 ]; then
		printf '\r\033[K'
	fi
}

die() { # die SENTENCE…: reports what is missing and what to run, then exits
	progress_end
	printf '\033[1;31mtools/setup:\033[0m %s\n' "$*" | plain_unless_terminal >&2
	exit 1
}

plain_unless_terminal() {
	if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi
}

# Without stack frames of JavaScript, which would leave no room for what they are about.
log_tail() {
	grep -vE '^[[:space:]]+at ' "$log" | tail -n 5 | sed 's/^/    | /' >&2
}
