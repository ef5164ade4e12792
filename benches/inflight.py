#!/usr/bin/env python3
"""The in-flight sources: the scanner beside other parsers, and what polls cost the release binary.

    make bench-inflight

The same 10 MB exposition is read by tidegate's scanner (`benches/exposition.rs`), the Rust crate
prometheus-parse (`benches/inflight/`) and Python's prometheus_client. Then the release binary drains: its CPU
time and its memory are the kernel's (/proc/PID/schedstat, VmHWM), so that a busy machine changes little.
The result goes to docs/benchmarks.md.
"""

import argparse
import multiprocessing
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

METRIC = "envoy_http_downstream_rq_active"
SOCKETS = 20_000
HOLDERS = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tidegate", help="the release binary")
    parser.add_argument("other", help="the release binary of benches/inflight")
    parser.add_argument("scanner", nargs="+", help="the command that runs benches/exposition.rs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        page = os.path.join(directory, "page")
        scanners(asked, page)
        drains(asked.tidegate, directory, page)
        sockets(asked.tidegate)


def scanners(asked, page):
    said = subprocess.run([*asked.scanner, page], check=True, stdout=subprocess.PIPE, text=True).stdout
    took = {query: float(ms) for ms, query in re.findall(r"([\d.]+) ms  (.*)", said)}
    rows = {f"tidegate, `{query}`": ms for query, ms in took.items()}
    ours = took[f"sum({METRIC})"]
    theirs = subprocess.run([asked.other, page, METRIC, "5"], check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, total = map(float, theirs.split())
    assert total == 3, total
    rows["prometheus-parse 0.2.5 (Rust)"] = seconds * 1e3
    rows["prometheus_client.parser 0.26 (Python)"] = by_python(page) * 1e3
    size = os.path.getsize(page)
    with open(page) as f:
        series = sum(not line.startswith("#") for line in f)
    print(f"one metric of {size / 1e6:.1f} MB, {series} series\n")
    print("| read by | ms | GB/s | ratio to the first |\n| --- | ---: | ---: | ---: |")
    for name, ms in rows.items():
        print(f"| {name} | {ms:,.2f} | {size / ms / 1e6:.3f} | {ms / ours:,.1f} |")
    print()


def by_python(page):
    from prometheus_client.parser import text_string_to_metric_families
    with open(page) as f:
        body = f.read()
    begun = time.perf_counter()
    total = sum(s.value for family in text_string_to_metric_families(body) for s in family.samples if s.name == METRIC)
    took = time.perf_counter() - begun
    assert total == 3, total
    return took


def drains(tidegate, directory, page):
    with open(page, "rb") as f:
        whole = f.read()
    last = whole[whole.rindex(b"\n", 0, -1) + 1:]
    cut = lambda size: whole[:whole.rindex(b"\n", 0, size) + 1] + last
    pages = [cut(1000), cut(50_000), whole, whole[:-len(last)] * 4 + last]
    print("a drain that polls five times a second\n")
    print("| page | polls | CPU a poll (ms) | CPU, share of a core | peak memory (MiB) |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for body in pages:
        polls, cpu, wall, peak = drain(tidegate, directory, body)
        size = f"{len(body) / 1e6:.1f} MB" if len(body) > 1e6 else f"{len(body) / 1e3:.0f} kB"
        print(f"| {size} | {polls} | {cpu / polls * 1e3:.3f} | {cpu / wall:.3%} | {peak / 1024:.1f} |", flush=True)
    print()


def drain(tidegate, directory, body, seconds=10):
    """Polls, CPU seconds and wall seconds of a drain from its second poll on, and VmHWM in KiB."""
    server = Page(body)
    config = f"""
terminationGracePeriodSeconds: 600
drain: {{propagation: 0s, pollTimeout: 190ms, stalledAfter: 1h}}
health: {{listen: off}}
inflight: [{{prometheus: {{url: "http://127.0.0.1:{server.port}/", query: "sum({METRIC})"}}}}]
"""
    process = subprocess.Popen([tidegate, "--", "sleep", "600"], stderr=subprocess.DEVNULL,
                               env={**os.environ, "TIDEGATE_CONFIG": config,
                                    "TIDEGATE_ADMIN_SOCKET": os.path.join(directory, "admin.sock")})
    try:
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        server.wait_for(2)
        polls, cpu, wall = server.polls, cpu_seconds(process.pid), time.monotonic()
        time.sleep(seconds)
        return (server.polls - polls, cpu_seconds(process.pid) - cpu, time.monotonic() - wall,
                status(process.pid, "VmHWM"))
    finally:
        process.kill()
        process.wait()


class Page:
    """An HTTP server of one page, on connections that it keeps alive."""

    def __init__(self, body):
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.polls = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            try:
                while connection.recv(65536):
                    connection.sendall(self.answer)
                    self.polls += 1
            except OSError:
                pass

    def wait_for(self, polls):
        end = time.monotonic() + 60
        while self.polls < polls:
            if time.monotonic() > end:
                sys.exit("the page was not asked for")
            time.sleep(0.01)


def cpu_seconds(pid):
    """Of all threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def status(pid, key):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def sockets(tidegate):
    listener = socket.create_server(("127.0.0.1", 0), backlog=SOCKETS)
    port = listener.getsockname()[1]
    ready, done = multiprocessing.Semaphore(0), multiprocessing.Event()
    holders = [multiprocessing.Process(target=hold, args=(listener, port, ready, done)) for _ in range(HOLDERS)]
    try:
        for holder in holders:
            holder.start()
        for holder in holders:
            if not ready.acquire(timeout=120):
                sys.exit(f"{SOCKETS} connections could not be made")
        print(f"{SOCKETS} connections to one port, and as many sockets of their other ends in the table (ms)\n")
        print("| asked by | fastest | median | CPU |\n| --- | ---: | ---: | ---: |")
        for name, how in [("`mode: busy`", "mode: busy"), ("`mode: established`", "mode: established")]:
            took, cpu = watched(tidegate, f"{{tcp: {{ports: [{port}], {how}}}}}")
            print(f"| tidegate, {name} | {min(took):.1f} | {statistics.median(took):.1f} | {cpu * 1e3:.1f} |", flush=True)
        asked = ["ss", "-tinH", f"sport = :{port}"]
        took, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(20):
            begun = time.perf_counter()
            subprocess.run(asked, check=True, stdout=subprocess.DEVNULL)
            took.append((time.perf_counter() - begun) * 1e3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 20
        print(f"| `{' '.join(asked[:2])}` | {min(took):.1f} | {statistics.median(took):.1f} | {cpu * 1e3:.1f} |")
    finally:
        done.set()
        for holder in holders:
            holder.join(30)


def hold(listener, port, ready, done):
    """Both ends of a share of the connections: they need not match, a backlog serves all."""
    wanted = 2 * SOCKETS // HOLDERS + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), max(hard, wanted)))
    held = []
    for _ in range(SOCKETS // HOLDERS):
        held.append(socket.create_connection(("127.0.0.1", port)))
        held.append(listener.accept()[0])
    ready.release()
    done.wait()


def watched(tidegate, source, seconds=8):
    """Milliseconds of each poll, and CPU seconds a poll."""
    config = f"drain: {{pollTimeout: 20s}}\ninflight: [{source}]"
    process = subprocess.Popen([tidegate, "inflight", "--watch"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "TIDEGATE_CONFIG": config})
    lines = iter(process.stdout)
    next(lines)
    cpu, end, took = cpu_seconds(process.pid), time.monotonic() + seconds, []
    while time.monotonic() < end:
        line = next(lines)
        found = re.search(r": (\d+), in ([\d.]+)(µs|ms|s)\b", line)
        if found:
            took.append(float(found[2]) * {"µs": 1e-3, "ms": 1, "s": 1e3}[found[3]])
        elif "sum" not in line:
            sys.exit(line)
    cpu = (cpu_seconds(process.pid) - cpu) / len(took)
    process.kill()
    process.wait()
    return took, cpu


if __name__ == "__main__":
    main()
