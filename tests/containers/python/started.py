"""Starts the image by Testcontainers' module for Python: `started.py KIND...`, as docs/testcontainers.md shows.

For each kind it prints a line with the name, the address for this machine, the address of the listener BROKER and the
network. It stops the container when it is sent a line. The programs of the other languages do the same.
"""

import sys

from testcontainers.community.kafka import KafkaContainer
from testcontainers.core.network import Network

for kind in sys.argv[1:]:
    kafka = KafkaContainer("kafka-group-coordinator:0.1.0")
    with Network() as network, kafka.with_network(network):
        told = kafka.get_wrapped_container().attrs["Config"]["Hostname"]
        print("started", kind, kafka.get_bootstrap_server(), f"{told}:9092", network.name, flush=True)
        sys.stdin.readline()
