#!/usr/bin/env bash
# The release binary runs from a root with nothing else in it: no libc, no shell, no /proc, no /dev, no /tmp.
# Its child is itself (`tidegate --version` is a program like any other). `tests/empty_root.sh BINARY`; as root,
# or where users may make namespaces.
set -euo pipefail
binary=$(realpath "$1")

fail() {
    echo "empty root: $*" >&2
    exit 1
}

# An interpreter in the program headers is a loader that would have to be there.
if readelf -lW "$binary" | grep -q INTERP; then fail "$binary is linked dynamically"; fi
[ "$(readelf -dW "$binary" | grep -c NEEDED)" = 0 ] || fail "$binary needs libraries"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$binary" "$root/tidegate"
namespaces=(--user --map-root-user)
[ "$(id -u)" != 0 ] || namespaces=()

inside() {
    unshare "${namespaces[@]}" --mount --pid --net --fork --kill-child --root "$root" -- /tidegate "$@"
}

said=$(inside run --listen 127.0.0.1:9095 -- /tidegate --version 2>"$root.log") || fail "$(cat "$root.log")"
[[ $said == "tidegate "* ]] || fail "its child said: $said"
# A supervisor inside a supervisor, and an exit code through both.
code=0
inside --listen off -- /tidegate --listen off -- /nothing 2>"$root.log" || code=$?
[ "$code" = 127 ] || fail "a missing program gave $code: $(cat "$root.log")"
rm -f "$root.log"
echo "empty root: $binary runs with nothing beside it"
