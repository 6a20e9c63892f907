"""Joins a group at an address, and prints the address that it is told and the partition that it is assigned.

`member.py ADDRESS`: it runs on this machine and, given to Python as text, in a container.
"""

import sys
import time

from confluent_kafka import Consumer, Producer

TOPIC = "orders"
WITHIN_S = 60

server = {"bootstrap.servers": sys.argv[1]}
producer = Producer(server)
producer.produce(TOPIC, b"one")
if producer.flush(WITHIN_S):
    sys.exit("the record was not acknowledged")
assigned = []
consumer = Consumer({**server, "group.id": "shop", "auto.offset.reset": "earliest"})
consumer.subscribe([TOPIC], on_assign=lambda _, partitions: assigned.extend(partitions))
deadline = time.monotonic() + WITHIN_S
while (message := consumer.poll(0.1)) is None or message.error():
    if time.monotonic() > deadline:
        sys.exit("no record arrived")
brokers = consumer.list_topics(timeout=WITHIN_S).brokers.values()
consumer.close()
print(
    "told",
    *(f"{each.host}:{each.port}" for each in brokers),
    "assigned",
    *(f"{each.topic}-{each.partition}" for each in assigned),
)
