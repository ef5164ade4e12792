"""Watches a health port with grpcio, stops tidegate by SIGTERM, and measures with one clock how long the news
took.

    watch.py HEALTH_ADDRESS TIDEGATE_PID [SERVICE]

Prints `serving`, then `told MILLISECONDS` at NOT_SERVING, then `ended CODE` at the end of the stream.
"""

import os
import signal
import sys
import threading
import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

address, pid, *service = sys.argv[1:]
request = health_pb2.HealthCheckRequest(service=service[0] if service else "")
statuses = health_pb2.HealthCheckResponse.ServingStatus

channel = grpc.insecure_channel(address)
grpc.channel_ready_future(channel).result(timeout=15)
stub = health_pb2_grpc.HealthStub(channel)
sent = None


def stop():
    # From another thread, so that the one that waits for the news is already waiting.
    global sent
    sent = time.monotonic()
    os.kill(int(pid), signal.SIGTERM)


try:
    for answer in stub.Watch(request, timeout=60):
        now = time.monotonic()
        name = statuses.Name(answer.status)
        if name == "SERVING" and sent is None:
            print("serving", flush=True)
            threading.Timer(0.2, stop).start()
        elif name == "NOT_SERVING" and sent is not None:
            print(f"told {(now - sent) * 1000:.3f}", flush=True)
        else:
            print(f"status {name}", flush=True)
    print("ended OK", flush=True)
except grpc.RpcError as error:
    print(f"ended {error.code().name}", flush=True)
