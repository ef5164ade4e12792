#!/usr/bin/env python3
"""tidegate as PID 1, side by side with tini, dumb-init, catatonit and no wrapper at all.

    make bench-pid1            # as root; Debian: apt-get install tini dumb-init catatonit

Runs are interleaved, so that whatever else the machine does hits all alike. The measured program and the
stopwatch are `pid1/probe.rs`, compiled here with rustc. The result goes to docs/benchmarks.md.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
OTHERS = ("tini", "dumb-init", "catatonit")


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        probe = compile_probe(directory)
        wrappers = found(asked.tidegate)
        print(about(asked), "\n", sep="")
        start, end = starts_and_ends(wrappers, probe, asked.rounds)
        table("start added, exec to the program's main (ms)", start, added_to="none", scale=1e6)
        table("exit handed back, the program's to ours (ms)", end, added_to="none", scale=1e6)
        table("a signal forwarded (µs)", forwarding(wrappers, probe, asked.rounds), added_to="none", scale=1e3)
        idle(wrappers, probe, asked.idle)
        if os.geteuid() == 0:
            orphans(wrappers, probe, asked.orphans)
        else:
            print("orphans: not measured, a PID namespace needs root")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tidegate", help="the release binary")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--idle", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--orphans", type=int, default=5000)
    return parser.parse_args()


def compile_probe(directory):
    probe = os.path.join(directory, "probe")
    words = "rustc --edition 2024 -O -C panic=abort -C strip=symbols -C target-feature=+crt-static".split()
    subprocess.run([*words, "-o", probe, f"{HERE}/pid1/probe.rs"], check=True)
    return probe


def found(tidegate):
    """Each wrapper's command line, up to the program's."""
    wrappers = {"none": []}
    for name in OTHERS:
        path = shutil.which(name)
        if path is None:
            sys.exit(f"{name} is not there; Debian: apt-get install {' '.join(OTHERS)}")
        wrappers[name] = [path, "--"]
    wrappers["tidegate"] = [os.path.abspath(tidegate), "--listen", f"127.0.0.1:{free_port()}", "--"]
    return wrappers


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def about(asked):
    with open("/proc/cpuinfo") as f:
        model = next((l.split(":")[1].strip() for l in f if l.startswith("model name")), "unknown CPU")
    size = os.path.getsize(asked.tidegate) / 1e6
    return f"{model}, {os.cpu_count()} CPUs, Linux {os.uname().release}; tidegate {size:.1f} MB; {asked.rounds} rounds"


def starts_and_ends(wrappers, probe, rounds):
    start, end = ({name: [] for name in wrappers} for _ in range(2))
    for turn in range(rounds + 5):
        for name, words in wrappers.items():
            # Standard error is /dev/null: a reader woken by a log line would be measured as well.
            said = subprocess.run([probe, "run", *words, probe, "stamp"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=True).stdout
            began, ended = map(int, said.split())
            # The first ones fill the page cache.
            if turn >= 5:
                start[name].append(began)
                end[name].append(ended)
    return start, end


def forwarding(wrappers, probe, rounds):
    catching = {}
    for name, words in wrappers.items():
        reader, writer = os.pipe()
        process = subprocess.Popen([*words, probe, "catch"], stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        assert len(os.read(reader, 8)) == 8
        catching[name] = process, reader
    try:
        readers = [reader for _, reader in catching.values()]
        clock = subprocess.Popen([probe, "signals"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=readers)
        took = {name: [] for name in wrappers}
        time.sleep(0.5)
        for _ in range(rounds):
            for name, (process, reader) in catching.items():
                clock.stdin.write(f"{process.pid} {reader}\n".encode())
                clock.stdin.flush()
                took[name].append(int(clock.stdout.readline()))
                # So that everyone is asleep again.
                time.sleep(0.001)
        clock.stdin.close()
        clock.wait()
        return took
    finally:
        # Whatever the clock came to.
        end_all(catching.values())


def end_all(catching):
    for process, _ in catching:
        for pid in children(process.pid) or [process.pid]:
            os.kill(pid, 9)
        process.wait()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


def idle(wrappers, probe, seconds):
    """PSS and context switches of all at once, after they have settled."""
    running = {}
    for name, words in wrappers.items():
        if words:
            reader, writer = os.pipe()
            process = subprocess.Popen([*words, probe, "catch"], stdout=writer, stderr=subprocess.DEVNULL)
            os.close(writer)
            os.read(reader, 8)
            running[name] = process, reader
    time.sleep(2)
    before = {name: switches(process.pid) for name, (process, _) in running.items()}
    time.sleep(seconds)
    print(f"idle\n\n| wrapper | PSS (MiB) | private (MiB) | context switches in {seconds:g} s |\n| --- | ---: | ---: | ---: |")
    for name, (process, _) in running.items():
        pss, private = memory(process.pid)
        print(f"| {name} | {pss / 1024:.2f} | {private / 1024:.2f} | {switches(process.pid) - before[name]} |")
    print()
    end_all(running.values())


def switches(pid):
    with open(f"/proc/{pid}/status") as f:
        return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in f if line.endswith("kB\n")}
    return sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def orphans(wrappers, probe, count):
    """In a PID namespace each, because dumb-init adopts orphans nowhere else."""
    namespace = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
    rates = {name: [] for name in wrappers if name != "none"}
    for _ in range(3):
        for name in rates:
            said = subprocess.run([*namespace, *wrappers[name], probe, "orphans", str(count)], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            rates[name].append(count / (int(said) / 1e9))
    print("orphans, ended and reaped (a second)\n\n| wrapper | median | ratio to tidegate's |\n| --- | ---: | ---: |")
    ours = statistics.median(rates["tidegate"])
    for name, rate in rates.items():
        median = statistics.median(rate)
        print(f"| {name} | {median:,.0f} | {median / ours:.2f} |")
    print()


def table(title, samples, added_to, scale):
    """Medians and 95th percentiles; what a wrapper adds is its median less that of no wrapper."""
    base = statistics.median(samples[added_to])
    ours = statistics.median(samples["tidegate"]) - base
    print(f"{title}\n\n| wrapper | median | p95 | added | ratio to tidegate's |\n| --- | ---: | ---: | ---: | ---: |")
    for name, values in samples.items():
        median = statistics.median(values)
        p95 = statistics.quantiles(values, n=20)[-1]
        added = "" if name == added_to else f"{(median - base) / scale:.3f}"
        ratio = "" if name == added_to else f"{(median - base) / ours:.2f}"
        print(f"| {name} | {median / scale:.3f} | {p95 / scale:.3f} | {added} | {ratio} |")
    print()


if __name__ == "__main__":
    main()
