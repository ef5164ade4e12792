"""Calls Check of a server about which nothing is known but what its reflection says.

    reflect.py HEALTH_ADDRESS

Prints the services, one a line, and then `check STATUS`.
"""

import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

channel = grpc.insecure_channel(sys.argv[1])
grpc.channel_ready_future(channel).result(timeout=15)
database = ProtoReflectionDescriptorDatabase(channel)
for service in sorted(database.get_services()):
    print(f"service {service}", flush=True)
pool = descriptor_pool.DescriptorPool(database)
method = pool.FindServiceByName("grpc.health.v1.Health").FindMethodByName("Check")
request, response = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
check = channel.unary_unary(
    "/grpc.health.v1.Health/Check",
    request_serializer=request.SerializeToString,
    response_deserializer=response.FromString,
)
answer = check(request(service=""), timeout=15)
print("check", response.DESCRIPTOR.fields_by_name["status"].enum_type.values_by_number[answer.status].name, flush=True)
