"""A gRPC server with grpcio's own health service, which is SERVING from the start. SIGUSR1 makes it NOT_SERVING,
SIGUSR2 SERVING again; SIGTERM stops it gracefully: it ends when the last call is over, for as long as that takes.

    health.py ADDRESS
"""

import concurrent.futures
import signal
import sys

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

# Before any thread is there, so that none of them takes a signal: handlers run between any two steps of the main
# thread, and would wait for locks that it holds.
signals = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)

servicer = health.HealthServicer()
statuses = health_pb2.HealthCheckResponse
server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
server.add_insecure_port(sys.argv[1])
server.start()
print(f"listening on {sys.argv[1]}", flush=True)
while (received := signal.sigwait(signals)) != signal.SIGTERM:
    servicer.set("", statuses.NOT_SERVING if received == signal.SIGUSR1 else statuses.SERVING)
server.stop(3600).wait()
print("stopped gracefully", flush=True)
