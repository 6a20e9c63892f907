"""The enforcement of client quotas: how long a client is muted after a request, or a connection is delayed.

Pure. Source: Kafka's `ClientQuotaManager`, `ClientRequestQuotaManager`, `ControllerMutationQuotaManager` and
`ConnectionQuotas`. Rates are kept for the clients seen last, up to MOST_CLIENTS and, while others come, for an hour. A
change of quotas keeps the rates.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakValueDictionary

from coordinator.security.acl.hosts import host_of
from coordinator.security.quotas.model import (
    CLIENT_KEYS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    NO_QUOTAS,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    REQUEST_RATE,
)
from coordinator.security.quotas.precedence import applied
from coordinator.security.quotas.rate import WINDOW_MS, Rate, TokenBucket

if TYPE_CHECKING:
    from coordinator.security.quotas.model import QuotaMap
    from coordinator.security.quotas.precedence import Tags

MOST_CLIENTS: Final = 10_000  # pairs of user and client id; as many addresses
IDLE_MS: Final = 3_600_000  # InactiveSensorExpirationTimeSeconds
LONGEST_MS: Final = WINDOW_MS  # of a delay for request_percentage or connection_creation_rate
MOST_MS: Final = (1 << 31) - 1  # throttle_time_ms of an answer

K = TypeVar("K")
Limiter = TypeVar("Limiter", Rate, TokenBucket)


class _Client:
    """The rates of a user with a client id; None: that is not limited."""

    __slots__ = ("bytes_in", "bytes_out", "generation", "last_ms", "mutations", "requests", "time")

    def __init__(self) -> None:
        self.generation = 0  # of the quotas by which these were made
        self.last_ms = 0
        self.requests: Rate | None = None
        self.time: Rate | None = None
        self.bytes_in: Rate | None = None
        self.bytes_out: Rate | None = None
        self.mutations: TokenBucket | None = None


class Quotas:
    """All quotas, and the rates that they limit. Call `charge` only while `is_active`."""

    def __init__(self) -> None:
        self.is_active = False  # a client may have a quota
        self._quotas = NO_QUOTAS
        self._generation = 0
        self._clients: OrderedDict[Tags, _Client] = OrderedDict()
        # Kept alive by the clients that share them.
        self._rates: WeakValueDictionary[tuple[str, Tags], Rate] = WeakValueDictionary()
        self._buckets: WeakValueDictionary[tuple[str, Tags], TokenBucket] = WeakValueDictionary()
        self._connection_quotas: dict[str | None, float] = {}  # by address; None: the default
        self._connections: OrderedDict[str, Rate] = OrderedDict()

    def update(self, quotas: QuotaMap) -> None:
        """Enforce these quotas from now on. The rates of clients follow at their next requests."""
        self._quotas = quotas
        self._generation += 1
        self.is_active = any(not CLIENT_KEYS.keys().isdisjoint(values) for values in quotas.values())
        self._connection_quotas = {
            name and host_of(name): values[CONNECTION_CREATION_RATE]
            for ((kind, name), *_), values in quotas.items()
            if kind == IP
        }

    def charge(
        self,
        user: str,
        client_id: str,
        *,
        requests: int = 1,
        seconds: float = 0.0,
        bytes_in: int = 0,
        bytes_out: int = 0,
        now_ms: int,
    ) -> int:
        """Record what a client used. Return for how long in ms it must be muted (KIP-219); 0: it is within its quotas.

        `seconds` of the event loop; `bytes_in` of a Produce; `bytes_out` of the answer to a Fetch.
        """
        client = self._client(user, client_id, now_ms)
        throttle_ms = 0
        if client.requests is not None:
            throttle_ms = client.requests.record(requests, now_ms)
        if client.time is not None and (wait_ms := client.time.record(seconds * 100, now_ms)) > throttle_ms:
            throttle_ms = max(throttle_ms, min(wait_ms, LONGEST_MS))
        if bytes_in and client.bytes_in is not None:
            throttle_ms = max(throttle_ms, client.bytes_in.record(bytes_in, now_ms))
        if bytes_out and client.bytes_out is not None:
            throttle_ms = max(throttle_ms, client.bytes_out.record(bytes_out, now_ms))
        return throttle_ms if throttle_ms < MOST_MS else MOST_MS

    def charge_mutations(self, user: str, client_id: str, mutations: int, *, is_strict: bool, now_ms: int) -> int:
        """Record partitions that are created or deleted. Return for how long in ms the client must wait; 0: not.

        Strict: if it must, nothing is recorded, and they must be refused with THROTTLING_QUOTA_EXCEEDED.
        """
        bucket = self._client(user, client_id, now_ms).mutations
        if bucket is None:
            return 0
        overdrawn_ms = bucket.overdrawn_ms(now_ms)
        if is_strict and overdrawn_ms:
            return min(overdrawn_ms, MOST_MS)
        bucket.take(mutations, now_ms)
        return 0 if is_strict else min(bucket.overdrawn_ms(now_ms), MOST_MS)

    def connection_throttle_ms(self, address: str, now_ms: int) -> int:
        """Record a connection from an address. Return 0, or the ms after which it is closed without being served."""
        quotas = self._connection_quotas
        if not quotas:
            return 0
        host = host_of(address)
        quota = quotas.get(host, quotas.get(None))
        if quota is None:
            return 0
        rate = self._connections.get(host)
        if rate is None:
            _make_room(self._connections, now_ms)
            rate = self._connections[host] = Rate(quota, now_ms)
        self._connections.move_to_end(host)
        rate.quota = quota
        throttle_ms = min(rate.record(1, now_ms), LONGEST_MS)
        if throttle_ms:
            rate.record(-1, now_ms)
        return throttle_ms

    def _client(self, user: str, client_id: str, now_ms: int) -> _Client:
        tags = user, client_id
        client = self._clients.get(tags)
        if client is None:
            _make_room(self._clients, now_ms)
            client = self._clients[tags] = _Client()
        else:
            self._clients.move_to_end(tags)
        if client.generation != self._generation:
            self._apply(client, tags, now_ms)
        client.last_ms = now_ms
        return client

    def _apply(self, client: _Client, tags: Tags, now_ms: int) -> None:
        client.generation = self._generation
        client.requests = self._limiter(Rate, self._rates, REQUEST_RATE, tags, now_ms)
        client.time = self._limiter(Rate, self._rates, REQUEST_PERCENTAGE, tags, now_ms)
        client.bytes_in = self._limiter(Rate, self._rates, PRODUCER_BYTE_RATE, tags, now_ms)
        client.bytes_out = self._limiter(Rate, self._rates, CONSUMER_BYTE_RATE, tags, now_ms)
        client.mutations = self._limiter(TokenBucket, self._buckets, CONTROLLER_MUTATION_RATE, tags, now_ms)

    def _limiter(
        self,
        kind: type[Limiter],
        limiters: WeakValueDictionary[tuple[str, Tags], Limiter],
        key: str,
        tags: Tags,
        now_ms: int,
    ) -> Limiter | None:
        found = applied(self._quotas, key, *tags)
        if found is None:
            return None
        limiter = limiters.get((key, found.tags))
        if limiter is None:
            limiter = limiters[key, found.tags] = kind(found.quota, now_ms)
        limiter.quota = found.quota
        return limiter


def _make_room(used: OrderedDict[K, _Client] | OrderedDict[K, Rate], now_ms: int) -> None:
    """Forget what was not used for an hour, and make room for one more. The least recently used one is the first."""
    while used:
        first = next(iter(used))
        if len(used) < MOST_CLIENTS and now_ms - used[first].last_ms < IDLE_MS:
            return
        del used[first]
