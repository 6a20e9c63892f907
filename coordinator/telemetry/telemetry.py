"""GetTelemetrySubscriptions and PushTelemetry of one node: checks, figures, and OTLP out.

The checks of a push run on the event loop. Its metrics are expanded, decoded and sent on by one thread, because that
takes milliseconds and an import; the answer follows. At most `MOST_WAITING` pushes wait for the thread, and others are
throttled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.client_metrics import Subscription
from coordinator.telemetry.figures import ClientFigures
from coordinator.telemetry.instances import CODECS, RESERVED_IDS, ClientFacts, ClientInstances, uuid_text
from coordinator.telemetry.metrics_data import MetricsDataError, Push, decode, encode
from coordinator.telemetry.polls import last_poll_of
from protocol.compression import decompress
from protocol.error_codes import ErrorCode
from protocol.errors import CorruptBatchError
from protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.last_polls import LastPoll
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.storage.thread_pool import Executor
    from coordinator.telemetry.exporter import OtlpExporter
    from protocol.messages.push_telemetry import PushTelemetryRequest

LOG: Final = logging.getLogger("coordinator.telemetry")

MOST_WAITING: Final = 100


class Telemetry:
    """The metrics of the clients of one node. `now_ms` is the time of the event; `told` hears of each last poll."""

    def __init__(
        self,
        config: Config,
        catalogue: Catalogue,
        new_uuid: Callable[[], bytes],
        executor: Executor,
        exporter: OtlpExporter | None = None,
        told: Callable[[LastPoll], None] = lambda last_poll: None,
    ) -> None:
        self.max_bytes = config.telemetry_max_bytes
        self._own = Subscription(tuple(config.asked_metrics), config.telemetry_interval_ms, {})
        self._catalogue = catalogue
        self._subscriptions: tuple[Subscription, ...] = ()
        self._others: tuple[Subscription, ...] | None = None  # those that `_subscriptions` was made of
        self._new_uuid = new_uuid
        self._executor = executor
        self.exporter = exporter
        self._instances = ClientInstances(config.telemetry_max_clients)
        self._figures: dict[bytes, ClientFigures] = {}
        self._told = told
        self._waiting = 0
        self.pushes = 0
        self.refused: dict[str, int] = {}  # pushes by the name of their error

    @property
    def is_on(self) -> bool:
        """True if clients are told that they may push metrics."""
        return bool(self._own.metrics)

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return all subscriptions: that of the settings, and those of the catalogue."""
        if self._catalogue.subscriptions is not self._others:
            self._others = self._catalogue.subscriptions
            self._subscriptions = ((self._own,) if self.is_on else ()) + self._others
        return self._subscriptions

    def get_subscriptions(
        self, instance_id: bytes, client: ClientFacts, connection: Any, now_ms: int
    ) -> GetTelemetrySubscriptionsResponse:
        """Answer a GetTelemetrySubscriptions request. `connection` has `is_closed`."""
        if instance_id == ZERO_UUID:
            instance_id = self._new_uuid()
        instance = self._instances.heard_of(instance_id, client, connection, self.subscriptions(), now_ms)
        self._forget(now_ms)
        error = instance.check_get(now_ms)
        if error is not ErrorCode.NONE:
            return GetTelemetrySubscriptionsResponse(error_code=error)
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=instance.subscription_id,
            accepted_compression_types=list(CODECS),
            push_interval_ms=instance.interval_ms,
            telemetry_max_bytes=self.max_bytes,
            delta_temporality=True,
            requested_metrics=instance.metrics,
        )

    def push(
        self,
        request: PushTelemetryRequest,
        client: ClientFacts,
        connection: Any,
        now_ms: int,
        reply: Callable[[ErrorCode], None],
    ) -> ErrorCode | None:
        """Handle a PushTelemetry request. None: `reply` is called later, once."""
        if request.client_instance_id in RESERVED_IDS:
            return self._counted(ErrorCode.INVALID_REQUEST)
        instance = self._instances.heard_of(
            request.client_instance_id, client, connection, self.subscriptions(), now_ms
        )
        self._forget(now_ms)
        error = instance.check_push(request, self.max_bytes, now_ms)
        if error is ErrorCode.NONE and request.metrics and self._waiting >= MOST_WAITING:
            error = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if error is not ErrorCode.NONE or not request.metrics:
            return self._counted(error)
        self._waiting += 1
        self._executor.run(
            partial(self._read, request, client), partial(self._was_read, request, client, now_ms, reply)
        )
        return None

    def _read(self, request: PushTelemetryRequest, client: ClientFacts) -> Push:
        """Expand and decode the metrics, and send them on. Runs in a thread."""
        push = decode(decompress(request.compression_type, request.metrics, self.max_bytes))
        if self.exporter is not None:
            labels = client.matched(uuid_text(request.client_instance_id))
            self.exporter.send(encode(push.message, labels))
        return push

    def _was_read(
        self,
        request: PushTelemetryRequest,
        client: ClientFacts,
        now_ms: int,
        reply: Callable[[ErrorCode], None],
        push: Push | None,
        problem: BaseException | None,
    ) -> None:
        self._waiting -= 1
        if push is not None:
            self._take(request.client_instance_id, client, push, now_ms)
            reply(self._counted(ErrorCode.NONE))
            return
        if not isinstance(problem, CorruptBatchError | MetricsDataError):
            LOG.error("a push of metrics broke; please report this", exc_info=problem)
        else:
            LOG.info("a push of metrics was refused client=%.100r reason=%s", client.client_id, problem)
        reply(self._counted(ErrorCode.INVALID_RECORD))

    def _take(self, instance_id: bytes, client: ClientFacts, push: Push, now_ms: int) -> None:
        if instance_id not in self._instances:  # forgotten meanwhile
            return
        figures = self._figures.get(instance_id)
        if figures is None:
            figures = self._figures[instance_id] = ClientFigures(uuid_text(instance_id), client)
        figures.take(push, now_ms)
        last_poll = last_poll_of(figures)
        if last_poll is not None:
            self._told(last_poll)

    def _counted(self, error: ErrorCode) -> ErrorCode:
        if error is ErrorCode.NONE:
            self.pushes += 1
        else:
            self.refused[error.name] = self.refused.get(error.name, 0) + 1
        return error

    def _forget(self, now_ms: int) -> None:
        for instance_id in self._instances.forget(now_ms):
            self._figures.pop(instance_id, None)

    def close(self) -> None:
        """End the threads, which may wait for a collector for some seconds."""
        self._executor.close()
        if self.exporter is not None:
            self.exporter.close()

    def figures(self) -> list[ClientFigures]:
        """Return the figures of all clients. Other threads may call it."""
        return list(self._figures.values())

    def of_group(self, group_id: str) -> list[ClientFigures]:
        """Return the figures of the clients that say that they are members of this group."""
        return [each for each in self._figures.values() if each.group_id == group_id]
