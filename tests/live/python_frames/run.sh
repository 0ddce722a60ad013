#!/bin/sh
# Every Python of this machine against the library, in the Test Anything Protocol.
# usage: run.sh LIBRARY PY_LINES [seconds under load]
# Looks at $AF_PYTHONS (paths), else at python3, python3.8 … python3.14 and those of pyenv.
here=$(dirname "$0")
library=$1
py_lines=$2
seconds=${3:-2}

pythons() {
	if [ -n "$AF_PYTHONS" ]; then
		printf '%s\n' $AF_PYTHONS
		return
	fi
	command -v python3
	command -v /usr/bin/python3
	for minor in 8 9 10 11 12 13 14; do
		command -v python3.$minor
	done
	ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 2>/dev/null
}

# One of each version; those the table does not know are no part of the test.
supported() {
	for python in $(pythons); do
		"$python" - "$python" 2>/dev/null <<-'END'
			import sys
			if (3, 8) <= sys.version_info < (3, 15):
			    print("%d.%d.%d %s" % (sys.version_info[:3] + (sys.argv[1],)))
		END
	done | sort -u -k1,1
}

nr=0
check() {
	name=$1
	shift
	nr=$((nr + 1))
	if output=$("$@" 2>&1); then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
	fi
	printf '%s\n' "$output" | sed 's/^# //; s/^/# /'
}

lines() {
	"$1" "$here/lines_dump.py" stdlib 6000 | "$py_lines"
}

found=$(supported)
if [ -z "$found" ]; then
	echo "1..0 # SKIP no Python from 3.8 to 3.14 is installed"
	exit 0
fi
while read -r version python; do
	check "frames of Python $version are those it reports" \
		"$python" "$here/walk.py" "$library" "$seconds"
	check "lines of Python $version are those it reports" lines "$python"
done <<END
$found
END
echo "1..$nr"
