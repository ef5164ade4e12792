"""The load of the drill by grpcio (gRPC's C core), with client-side health checking and round_robin.

    clients.py RATE ADDRESS…

An open loop as in load.rs, call for call the same. Prints `begun`, then a line of JSON for each call that is over; ends
after SIGTERM, when the last call under way is over.
"""

import json
import signal
import sys
import threading
import time

import grpc

RATE, ADDRESSES = int(sys.argv[1]), sys.argv[2:]
LIBRARY = "/plume.linkd.v3.Library/"
PATIENCE = 5.0
CONFIG = {"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}

over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
# A health check is a Watch on the connection that the calls are on. grpcio does not try again what a server has seen.
channel = grpc.insecure_channel(
    "ipv4:" + ",".join(ADDRESSES),
    options=[
        ("grpc.service_config", json.dumps(CONFIG)),
        ("grpc.enable_retries", 0),
        # A list of addresses is no authority that hyper takes.
        ("grpc.default_authority", "library"),
    ],
)
grpc.channel_ready_future(channel).result(timeout=15)
find = channel.unary_unary(LIBRARY + "FindBook", request_serializer=bytes, response_deserializer=bytes)
walk = channel.unary_stream(LIBRARY + "ListShelf", request_serializer=bytes, response_deserializer=bytes)


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def drawn(number):
    """As in load.rs."""
    mask = 2**64 - 1
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & mask
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & mask
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
    mixed ^= mixed >> 31
    part = mixed % 1000
    if part < 10:
        return "long", 3.0
    if part < 15:
        return "stream", 5.0
    return "short", (20 + (mixed >> 32) % 181) / 1000


def say(due, kind, asked, call, error):
    line = {"at": due - first, "kind": kind, "asked": asked, "took": time.monotonic() - due}
    if error is None:
        line["instance"] = dict(call.initial_metadata()).get("x-instance")
    if error is not None:
        line |= {"code": error.code().value[0], "why": error.details() or ""}
    with lock:
        print(json.dumps(line), flush=True)


def short(due, kind, asked):
    request = b"\n\x0bMiddlemarch\x10" + varint(int(asked * 1000))
    call = find.future(request, timeout=asked + PATIENCE)
    call.add_done_callback(lambda call: say(due, kind, asked, call, call.exception()))
    under_way.append(call)


def stream(due, kind, asked):
    error = books = None
    try:
        books = walk(b"\n\x01B\x10\x32\x18\x64", timeout=asked + PATIENCE)
        assert sum(1 for _ in books) == 50
    except grpc.RpcError as why:
        error = why
    say(due, kind, asked, books, error)


lock, under_way, threads = threading.Lock(), [], []
print("begun", flush=True)
first = time.monotonic()
number = 0
while not over.is_set():
    due = first + number / RATE
    if over.wait(max(0.0, due - time.monotonic())):
        break
    kind, asked = drawn(number)
    if kind == "stream":
        threads.append(threading.Thread(target=stream, args=(due, kind, asked)))
        threads[-1].start()
    else:
        short(due, kind, asked)
    number += 1
    if number % 100 == 0:
        under_way = [call for call in under_way if not call.done()]
for call in under_way:
    call.exception(timeout=60) if not call.done() else None
for thread in threads:
    thread.join()
