"""The use that one client makes of the server through one connection, and what its quotas say of it (KIP-219)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.security.quotas.enforcement import Quotas
    from coordinator.server.dispatch import Route

DELETE_TOPICS: Final = int(ApiKey.DELETE_TOPICS)
MUTATIONS: Final = (int(ApiKey.CREATE_TOPICS), DELETE_TOPICS, int(ApiKey.CREATE_PARTITIONS))


class QuotaMeter:
    """Time and bytes that are known only after a request count with the next one, as network time does in Kafka."""

    __slots__ = ("_bytes_out", "_seconds", "quotas")

    def __init__(self, quotas: Quotas) -> None:
        self.quotas = quotas
        self._seconds = 0.0
        self._bytes_out = 0

    def took(self, seconds: float) -> None:
        """Note the time that a request took."""
        self._seconds += seconds

    def fetched(self, answer: bytes | list[bytes]) -> None:
        """Note the answer to a Fetch."""
        self._bytes_out += len(answer) if isinstance(answer, bytes) else sum(map(len, answer))

    def charge(self, user: str, client_id: str, frame: bytes, request: Any, route: Route, now_ms: int) -> int:
        """Count a request. Returns for how many ms nothing more may be read from its client; 0: it is within quotas."""
        throttle_ms = self.quotas.charge(
            user,
            client_id,
            seconds=self._seconds,
            bytes_in=len(frame) if route.key == ApiKey.PRODUCE else 0,
            bytes_out=self._bytes_out,
            now_ms=now_ms,
        )
        self._seconds, self._bytes_out = 0.0, 0
        if route.key not in MUTATIONS:
            return throttle_ms
        named = request.topic_names if route.key == DELETE_TOPICS and not request.topics else request.topics
        mutations_ms = self.quotas.charge_mutations(user, client_id, len(named), is_strict=False, now_ms=now_ms)
        return max(throttle_ms, mutations_ms)
