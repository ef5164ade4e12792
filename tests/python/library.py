"""A gRPC server as grpcio's own examples have it: no shutdown handling. It serves FindBook of
plume.linkd.v3.Library (without generated code: the request's second field is how long to take, and an empty
message is a valid Book) and its gauge on a second port.

    library.py CALLS_ADDRESS METRICS_ADDRESS
"""

import concurrent.futures
import http.server
import sys
import threading
import time

import grpc

in_flight = 0
lock = threading.Lock()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def take_millis(request):
    at = 0
    while at < len(request):
        key, at = varint(request, at)
        value, at = varint(request, at)
        if key == 2 << 3:
            return value
        if key & 7 == 2:
            at += value
    return 0


def find_book(request, context):
    time.sleep(take_millis(request) / 1000)
    return b""


class Counting(grpc.ServerInterceptor):
    """Counts until the call is terminated: its last byte is out, or its client is gone."""

    def intercept_service(self, continuation, details):
        handler = continuation(details)

        def counted(request, context):
            global in_flight
            with lock:
                in_flight += 1
            if not context.add_callback(self.over):
                self.over()
            return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(counted)

    @staticmethod
    def over():
        global in_flight
        with lock:
            in_flight -= 1


class Metrics(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"# TYPE calls_in_flight gauge\ncalls_in_flight {in_flight}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


calls, metrics = sys.argv[1:]
host, port = metrics.rsplit(":", 1)
scrapes = http.server.ThreadingHTTPServer((host, int(port)), Metrics)
threading.Thread(target=scrapes.serve_forever, daemon=True).start()

server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), interceptors=[Counting()])
methods = {"FindBook": grpc.unary_unary_rpc_method_handler(find_book)}
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("plume.linkd.v3.Library", methods)])
server.add_insecure_port(calls)
server.start()
print(f"listening on {calls}", flush=True)
server.wait_for_termination()
