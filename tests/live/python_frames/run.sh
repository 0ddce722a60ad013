#!/bin/sh
# Every Python of this machine against the library, in the Test Anything Protocol.
# usage: run.sh LIBRARY PY_LINES [seconds under load]
here=$(dirname "$0")
library=$1
py_lines=$2
seconds=${3:-2}

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

found=$("$here/pythons")
if [ -z "$found" ]; then
	echo "1..0 # SKIP no Python from 3.8 to 3.15 is installed"
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
