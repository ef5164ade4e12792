"""One grpcio Check.

    check.py HEALTH_ADDRESS SERVICE [SERVICE_CONFIG]

Prints the status' name, or the name of the gRPC code.
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

address, service, *config = sys.argv[1:]
options = [("grpc.service_config", json) for json in config]
stub = health_pb2_grpc.HealthStub(grpc.insecure_channel(address, options))
try:
    answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=15, wait_for_ready=not config)
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
except grpc.RpcError as error:
    print(error.code().name)
