"""A program with prometheus_client's page: two calls of seven under way, labels that need escapes beside them.

Prints its port and serves until stdin ends.
"""

import sys

from prometheus_client import Counter, Gauge, Histogram, start_http_server

server, _ = start_http_server(0, addr="127.0.0.1")
Gauge("calls_in_progress", "Calls under way.", ["method"]).labels('a "quoted" {x="1",}\nline').set(2)
started = Counter("calls_started", "Calls begun.", ["method"])
started.labels("Get").inc(4)
started.labels("back\\slash").inc(3)
Histogram("call_seconds", "How long.").observe(0.2)
print(server.server_port, flush=True)
sys.stdin.read()
