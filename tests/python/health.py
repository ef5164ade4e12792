"""A gRPC server with grpcio's own health service, which is SERVING from the start. SIGUSR1 makes it NOT_SERVING,
SIGUSR2 SERVING again; SIGTERM stops it gracefully: it ends when the last call is over, for as long as that takes.

    health.py ADDRESS
"""

import concurrent.futures
import signal
import sys
import threading

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

servicer = health.HealthServicer()
statuses = health_pb2.HealthCheckResponse
stopping = threading.Event()

signal.signal(signal.SIGUSR1, lambda *_: servicer.set("", statuses.NOT_SERVING))
signal.signal(signal.SIGUSR2, lambda *_: servicer.set("", statuses.SERVING))
signal.signal(signal.SIGTERM, lambda *_: stopping.set())

server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
server.add_insecure_port(sys.argv[1])
server.start()
print(f"listening on {sys.argv[1]}", flush=True)
while not stopping.wait(0.1):
    pass
server.stop(3600).wait()
print("stopped gracefully", flush=True)
