# shellcheck shell=bash disable=SC2154 # here, cache and log come from tools/setup
# What the person at the keyboard sees. All output of other programs goes to $log.

step() { # step TEXT: a new thing is being done
	printf '\033[1m==>\033[0m %s\n' "$1" | plain_unless_terminal
}

progress() { # progress TEXT: where it is; only on a terminal, on one line
	if [ -t 1 ]; then
		printf '\r\033[K    %s' "$1"
	fi
}

progress_end() {
	if [ -t 1 ]; then
		printf '\r\033[K'
	fi
}

die() { # die SENTENCE…: what is missing, and what to run
	progress_end
	printf '\033[1;31mtools/setup:\033[0m %s\n' "$*" | plain_unless_terminal >&2
	exit 1
}

plain_unless_terminal() {
	if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi
}

log_tail() {
	tail -n 5 "$log" | sed 's/^/    | /' >&2
}
