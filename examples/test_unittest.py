"""unittest: a worker whose instance id is taken by another process gives up, and does not commit.

pip install kafka-group-coordinator kafka-python
python -m unittest test_unittest.py
"""

from __future__ import annotations

import unittest

from kafka import KafkaConsumer
from kafka.errors import FencedInstanceIdError

from coordinator.testing.case import CoordinatorTestCase


class Orders(CoordinatorTestCase):
    topics = {"orders": 1}  # noqa: RUF012

    def test_the_place_of_a_static_member_is_taken(self) -> None:
        self.coordinator.produce("orders", ["one", "two"])
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=self.coordinator.bootstrap_servers,
            group_id="shop",
            group_instance_id="shop-1",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self.assertEqual(next(consumer).value, b"one")

        self.coordinator.fence("shop-1")

        with self.assertRaises(FencedInstanceIdError):
            consumer.commit()
        self.assertEqual(self.coordinator.committed("shop"), {})
        consumer.close()


if __name__ == "__main__":
    unittest.main()
