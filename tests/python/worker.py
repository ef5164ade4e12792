"""Takes jobs, files of a directory, one after the other; SIGTSTP: no more of them; SIGTERM: the end."""

import os
import signal
import sys
import time

JOBS = sys.argv[1]
state = {"takes": True, "runs": True}


def quiet(*_):
    state["takes"] = False
    print("takes no more", flush=True)


def stop(*_):
    state["runs"] = False


signal.signal(signal.SIGTSTP, quiet)
signal.signal(signal.SIGTERM, stop)
# A signal during a job is acted on after it, so that no line is written within another.
HELD = {signal.SIGTSTP, signal.SIGTERM}
while state["runs"]:
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    jobs = sorted(os.listdir(JOBS)) if state["takes"] else []
    if jobs:
        print("took", jobs[0], flush=True)
        time.sleep(0.02)
        os.unlink(os.path.join(JOBS, jobs[0]))
        print("done", jobs[0], flush=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    time.sleep(0.005)
print("stopped", flush=True)
