"""Calls several servers through grpcio's round_robin with client-side health checking, as a service config asks
for it, and says who answers.

    balance.py ADDRESS…

Each server has a name of its own in its List. Prints `sees N` whenever the number of servers that answered one of
the last calls changes, `failed CODE` for each call that failed, and `calls N` after SIGTERM.
"""

import collections
import json
import signal
import sys
import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

config = {"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}
over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(True))
channel = grpc.insecure_channel(
    "ipv4:" + ",".join(sys.argv[1:]),
    options=[("grpc.service_config", json.dumps(config)), ("grpc.enable_retries", 0)],
)
grpc.channel_ready_future(channel).result(timeout=15)
stub = health_pb2_grpc.HealthStub(channel)
# Ten rounds: who is missing from them is not called any more.
last = collections.deque(maxlen=10 * len(sys.argv[1:]))
seen = 0
calls = 0
while not over:
    try:
        answer = stub.List(health_pb2.HealthListRequest(), timeout=15, wait_for_ready=True)
        last.append(next(name for name in answer.statuses if name.startswith("server")))
        calls += 1
    except grpc.RpcError as error:
        print(f"failed {error.code().name}", flush=True)
    if len(set(last)) != seen and len(last) == last.maxlen:
        seen = len(set(last))
        print(f"sees {seen}", flush=True)
    time.sleep(0.002)
print(f"calls {calls}", flush=True)
