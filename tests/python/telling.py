"""A child that tells which signals it gets.

Prints `ready PID`, then `signal NAME` a line. SIGTERM, SIGINT and SIGQUIT end it with --code, after --linger
seconds in which it goes on telling; with --deaf they do not. SIGUSR2 always ends it, with 7.

The signals are blocked and fetched one by one, so none is merged with its neighbour by a handler that was
late, and none interrupts a print.
"""

import argparse
import os
import signal
import socket
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--deaf", action="store_true")
parser.add_argument("--code", type=int, default=3)
parser.add_argument("--linger", type=float, default=0.0)
parser.add_argument("--listen", help="ADDRESS:PORT to listen at")
parser.add_argument("--pid-file")
parser.add_argument("--workers", type=int, default=0, help="forked with the listener open")
options = parser.parse_args()

told = {
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
    signal.SIGWINCH,
}
asking = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}


def tell(text):
    # One write a line: it is whole or not there.
    try:
        os.write(1, (text + "\n").encode())
    except OSError:
        pass


def leave(code):
    # No interpreter shutdown: what is measured is the signal, not Python's way out.
    os._exit(code)


signal.pthread_sigmask(signal.SIG_BLOCK, told)
listener = None
if options.listen:
    host, port = options.listen.rsplit(":", 1)
    listener = socket.create_server((host, int(port)))
for _ in range(options.workers):
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, told)
        # The harness ends it with the run.
        time.sleep(3600)
if options.pid_file:
    with open(options.pid_file, "w") as file:
        file.write(f"{os.getpid()}\n")
tell(f"ready {os.getpid()}")
leave_at = None
while True:
    if leave_at is None:
        got = signal.sigwait(told)
    else:
        info = signal.sigtimedwait(told, max(0.0, leave_at - time.monotonic()))
        if info is None:
            leave(options.code)
        got = signal.Signals(info.si_signo)
    tell(f"signal {got.name}")
    if got == signal.SIGUSR2:
        leave(7)
    if got in asking and not options.deaf:
        if options.linger == 0.0:
            leave(options.code)
        if leave_at is None:
            leave_at = time.monotonic() + options.linger
