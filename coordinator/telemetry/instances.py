"""The client instances that push metrics: their subscriptions, and the checks of their requests.

Source: Kafka's `ClientMetricsManager` and `ClientMetricsInstance`. The order of the checks is theirs. The oldest
instance is forgotten when there are too many.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import google_crc32c

from coordinator.core.topics.client_metrics import ALL_METRICS, DEFAULT_INTERVAL_MS, Subscription
from protocol.compression import Codec
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from protocol.messages.push_telemetry import PushTelemetryRequest

RESERVED_IDS: Final = frozenset((bytes(16), bytes(15) + b"\x01"))  # Kafka's Uuid.RESERVED
CODECS: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)  # in the order in which clients should prefer them
LEAST_LIFETIME_MS: Final = 60_000
_RETRIES_AT_ONCE: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
_NEVER: Final = -(2**62)


class ClientFacts(NamedTuple):
    """The facts of a client that the server knows, without what the client pushes."""

    client_id: str
    software_name: str
    software_version: str
    address: str
    port: str

    def matched(self, instance_id: str) -> dict[str, str]:
        """Return its values for the expressions of subscriptions."""
        return {
            "client_instance_id": instance_id,
            "client_id": self.client_id,
            "client_software_name": self.software_name,
            "client_software_version": self.software_version,
            "client_source_address": self.address,
            "client_source_port": self.port,
        }


class ClientInstance:
    """One client with the subscription that it was given."""

    __slots__ = (
        "client",
        "connection",
        "expires_ms",
        "instance_id",
        "interval_ms",
        "is_terminating",
        "last_error",
        "last_get_ms",
        "last_push_ms",
        "metrics",
        "subscription_id",
        "subscriptions",
    )

    def __init__(
        self, instance_id: bytes, client: ClientFacts, connection: Any, subscriptions: tuple[Subscription, ...]
    ) -> None:
        self.instance_id = instance_id
        self.client = client
        self.connection = connection
        self.subscriptions = subscriptions  # those that `metrics` was found from
        self.metrics, self.interval_ms = _asked_of(client.matched(uuid_text(instance_id)), subscriptions)
        self.subscription_id = _subscription_id(self.metrics, self.interval_ms, instance_id)
        self.last_get_ms = _NEVER
        self.last_push_ms = _NEVER
        self.is_terminating = False
        self.last_error = ErrorCode.NONE
        self.expires_ms = 0

    @property
    def lifetime_ms(self) -> int:
        return max(LEAST_LIFETIME_MS, 3 * self.interval_ms)

    def check_get(self, now_ms: int) -> ErrorCode:
        """Check a GetTelemetrySubscriptions request."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) >= self.interval_ms:
            self.last_get_ms = now_ms
        elif self.last_error not in _RETRIES_AT_ONCE:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def check_push(self, request: PushTelemetryRequest, max_bytes: int, now_ms: int) -> ErrorCode:
        """Check a PushTelemetry request. The first one after a GetTelemetrySubscriptions may come at any time."""
        error = self._checked(request, max_bytes, now_ms)
        self.last_error = error
        self.is_terminating = request.terminating
        return error

    def _checked(self, request: PushTelemetryRequest, max_bytes: int, now_ms: int) -> ErrorCode:
        if self.is_terminating:
            return ErrorCode.INVALID_REQUEST
        if self.last_get_ms > self.last_push_ms or now_ms - self.last_push_ms >= self.interval_ms:
            self.last_push_ms = now_ms
        elif not request.terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if request.subscription_id != self.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if request.compression_type not in (Codec.NONE, *CODECS):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if len(request.metrics) > max_bytes:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE


class ClientInstances:
    """The instances by id, the one that was heard of last at the end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._instances: dict[bytes, ClientInstance] = {}

    def __len__(self) -> int:
        return len(self._instances)

    def __contains__(self, instance_id: bytes) -> bool:
        return instance_id in self._instances

    def __iter__(self) -> Iterator[ClientInstance]:
        return iter(self._instances.values())

    def heard_of(
        self,
        instance_id: bytes,
        client: ClientFacts,
        connection: Any,
        subscriptions: tuple[Subscription, ...],
        now_ms: int,
    ) -> ClientInstance:
        """Return an instance, made anew if its subscriptions changed or the connection that began it is closed."""
        instance = self._instances.pop(instance_id, None)
        if (
            instance is None
            or instance.subscriptions is not subscriptions
            or (instance.connection is not connection and instance.connection.is_closed)
        ):
            instance = ClientInstance(instance_id, client, connection, subscriptions)
        instance.expires_ms = now_ms + instance.lifetime_ms
        self._instances[instance_id] = instance
        return instance

    def forget(self, now_ms: int) -> list[bytes]:
        """Forget the silent ones and the oldest ones above the bound. Return their ids; takes the time of these."""
        gone: list[bytes] = []
        for instance_id, instance in self._instances.items():
            if instance.expires_ms > now_ms and len(self._instances) - len(gone) <= self._most:
                break
            gone.append(instance_id)
        for instance_id in gone:
            del self._instances[instance_id]
        return gone


def uuid_text(instance_id: bytes) -> str:
    """Return an id as Kafka writes it: base64 for URLs, without padding."""
    return urlsafe_b64encode(instance_id).decode().rstrip("=")


def _asked_of(client: Mapping[str, str], subscriptions: tuple[Subscription, ...]) -> tuple[list[str], int]:
    """Return the prefixes of metrics that a client is asked for, and the interval in ms."""
    matching = [each for each in subscriptions if each.is_for(client)]
    metrics = {name for each in matching for name in each.metrics}
    interval_ms = min((each.interval_ms for each in matching), default=DEFAULT_INTERVAL_MS)
    return [ALL_METRICS] if ALL_METRICS in metrics else sorted(metrics), min(interval_ms, DEFAULT_INTERVAL_MS)


def _subscription_id(metrics: list[str], interval_ms: int, instance_id: bytes) -> int:
    """Return Kafka's id of a subscription: the CRC-32C of its text, and the hash of the instance's id."""
    mixed: int = google_crc32c.value(f"[{', '.join(metrics)}]{interval_ms}".encode())
    words = [int.from_bytes(instance_id[at : at + 4], "big") for at in range(0, 16, 4)]
    mixed ^= words[0] ^ words[1] ^ words[2] ^ words[3]
    return mixed - (1 << 32) if mixed >= 1 << 31 else mixed
