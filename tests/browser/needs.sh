# What every test in a browser needs, for those that source this with $here set: node, chromium and
# the packages of package-lock.json. Skips with the reason where one is missing; leaves CHROMIUM.

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

command -v node >/dev/null || skip "node is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || skip "chromium is not installed"
"$CHROMIUM" --version >/dev/null 2>&1 || skip "$CHROMIUM does not start"
export CHROMIUM
if [ ! "$here/node_modules/.package-lock.json" -nt "$here/package-lock.json" ]; then
	npm ci --prefix "$here" --ignore-scripts --no-audit --no-fund --fetch-retries=0 >/dev/null 2>&1 ||
		skip "npm ci in tests/browser failed; it needs a package registry once"
fi
