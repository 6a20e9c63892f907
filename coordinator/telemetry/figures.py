"""The newest figures of each client, and what /metrics shows of them.

A figure is a data point without attributes of its own, so that a client has one of each name. All numbers are bounded:
names of a client, names in /metrics, and clients (telemetry.max.clients).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from coordinator.metrics.health import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordinator.telemetry.instances import ClientFacts
    from coordinator.telemetry.metrics_data import Push

MOST_NAMES_OF_CLIENT: Final = 64
MOST_NAMES_SHOWN: Final = 200
LAST_POLL: Final = "org.apache.kafka.consumer.last.poll.seconds.ago"
_NAME: Final = re.compile(r"org\.apache\.kafka(\.[a-z0-9]+){1,20}")  # so that no figure of the server has it
_LONGEST_NAME: Final = 120
_ONLY_COUNTERS: Final = ".total"


class ClientFigures:
    """The newest figures of one client. `at_ms` is when they came, on the clock of the server."""

    __slots__ = ("at_ms", "client", "group_id", "instance_id", "member_id", "values")

    def __init__(self, instance_id: str, client: ClientFacts) -> None:
        self.instance_id = instance_id
        self.client = client
        self.group_id = ""
        self.member_id = ""
        self.at_ms = 0
        self.values: dict[str, float] = {}  # by name; that of a counter ends in ".total"

    def take(self, push: Push, now_ms: int) -> None:
        """Take over a push. A counter with delta temporality is added to the value so far."""
        self.at_ms = now_ms
        self.group_id = push.client.get("group_id", self.group_id)
        self.member_id = push.client.get("group_member_id", self.member_id)
        values = self.values
        for point in push.points:
            if math.isnan(point.value):  # NaN: the client does not know it
                continue
            name = point.name.removesuffix(_ONLY_COUNTERS) + (_ONLY_COUNTERS if point.is_counter else "")
            if name in values:
                values[name] = point.value + (values[name] if point.is_delta else 0)
            elif len(values) < MOST_NAMES_OF_CLIENT and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
                values[name] = point.value

    def last_poll_ms(self) -> int | None:
        """Return when the client polled last, on the clock of the server; None if it does not tell."""
        seconds_ago = self.values.get(LAST_POLL)
        return None if seconds_ago is None or not 0 <= seconds_ago < 1e9 else self.at_ms - int(seconds_ago * 1000)


def samples(clients: Iterable[ClientFigures]) -> Iterator[Sample]:
    """Yield the figures of all clients. Runs on the HTTP thread."""
    shown: set[str] = set()
    for each in clients:
        labels = {"client_id": each.client.client_id, "client_instance_id": each.instance_id, "group": each.group_id}
        for name, value in list(each.values.items()):
            if name not in shown:
                if len(shown) >= MOST_NAMES_SHOWN:
                    continue
                shown.add(name)
            kind = "counter" if name.endswith(_ONLY_COUNTERS) else "gauge"
            help = "As the client tells it (KIP-714)."
            yield Sample(name.replace(".", "_"), help, kind, value, labels)  # type: ignore[arg-type]
