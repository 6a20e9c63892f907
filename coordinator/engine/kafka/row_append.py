"""Appends rows of batches to the offsets log, each under the producer of its claim, in one try.

A request carries one piece of each row whose partition the same broker leads. The broker knows the last five batches of
a producer: a row whose outcome is unknown is sent again with the same sequence numbers, and what is there already is
answered with the offset of the first try. Only the expected offset means success. Another one, or a refusal of the
producer, means that the claim is worth nothing any more. A row fails only if certainly nothing of it was written.

Encoding a large row is divided into slices of time, so that other work of the event loop gets its turn in between.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from coordinator.config.values import Address
from coordinator.engine.kafka.append_errors import REFUSED_UNWRITTEN, not_sent, refused
from coordinator.engine.kafka.batches import SEQUENCES, RowPiece, Steps, row_pieces
from coordinator.engine.kafka.client import (
    TROUBLE,
    BrokerError,
    KafkaClient,
    ProducerIdentity,
    TopicPlace,
    produce_request,
)
from coordinator.engine.kafka.connection import BrokerConnectError
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    LogStoreError,
)
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages.produce import PartitionProduceResponse
from protocol.record_batch import read_header

FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
LOG_CHANGED: Final = frozenset(  # what the broker has of this producer is not what was acknowledged
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)

SLICE_S: Final = 0.002  # of encoding; the rows of several appends take turns with one slice each, up to four of them

WasKept = Callable[[TopicPlace, Sequence[Entry]], Awaitable[bool]]


@dataclass(slots=True)
class ClaimedPartition:
    """A claim of this process, and how far its appends are durable."""

    claim: Claim
    producer: ProducerIdentity
    claimed_at: int  # offset of the claim record in the topic
    end_offset: int  # of the log
    shift: int  # distance of an offset in the topic from the one in the log
    is_empty: bool  # the log never had a batch, so it may begin at any offset
    is_fenced: bool = False  # the broker has refused its producer
    is_broken: bool = False  # another writer took offsets, so nothing that is appended counts
    unknown: RowAppend | None = None  # the last row, encoded, if its outcome is unknown


class RowAppend:
    """One row on its way. `pieces` are there once it is encoded, `outcome` is None until it is known."""

    def __init__(
        self, place: TopicPlace, claimed: ClaimedPartition, entries: Sequence[Entry], max_bytes: int, *, is_new: bool
    ) -> None:
        self.place = place
        self.claimed = claimed
        self.entries = entries
        base_offset = read_header(entries[0].batch).base_offset
        sequence = (base_offset + claimed.shift - claimed.claimed_at) % SEQUENCES
        self._steps = row_pieces(entries, claimed.producer, sequence, max_bytes, wall_ms())
        self.pieces: list[tuple[RowPiece, int, bytearray]] | None = None
        self.may_be_written = not is_new
        self.outcome: AppendOutcome | None = None

    def encode(self) -> Steps[None]:
        """Build the pieces that are not known to be durable, unless they are there."""
        if self.pieces is not None:
            return
        pieces = yield from self._steps
        ends = [*(piece.base_offset for piece, _ in pieces[1:]), self.end_offset]
        self.pieces = [
            (piece, end, batch)
            for (piece, batch), end in zip(pieces, ends, strict=True)
            if not self.may_be_written or end > self.claimed.end_offset
        ]
        if not self.pieces:
            self.outcome = AppendDurable(self.end_offset)

    def again(self) -> RowAppend:
        """Return this row to be sent again, after its outcome was unknown."""
        self.may_be_written = True
        self.outcome = None
        return self

    @property
    def end_offset(self) -> int:
        """Offset of the log behind the row."""
        return self.entries[-1].last_offset + 1

    @property
    def next_piece(self) -> tuple[RowPiece, int, bytearray]:
        """The piece to send next, its end and its batch. The row must be encoded."""
        if not self.pieces:
            raise ValueError(f"the row of {self.place} is not encoded, or has no piece left; please report this")
        return self.pieces[0]

    def written(self) -> None:
        """Note that the next piece is durable."""
        _, self.claimed.end_offset, _ = self.next_piece
        self.pieces = (self.pieces or [])[1:]
        self.claimed.is_empty = False
        self.may_be_written = True  # a part of it is
        if not self.pieces:
            self.outcome = AppendDurable(self.end_offset)


class RowAppender:
    """Appends rows. `was_kept` reads whether the batches of a row are there, under a claim that cannot append more."""

    def __init__(self, client: KafkaClient, was_kept: WasKept) -> None:
        self._client = client
        self._was_kept = was_kept

    async def run(self, rows: Sequence[RowAppend]) -> None:
        """Append rows; sets their outcomes."""
        await encode(rows)
        while pending := [row for row in rows if row.outcome is None]:
            by_leader: dict[Address, list[RowAppend]] = defaultdict(list)
            for row in pending:
                try:
                    async with asyncio.timeout(self._client.timeout_s):
                        by_leader[await self._client.leader(row.place)].append(row)
                except (*TROUBLE, BrokerError) as error:
                    row.outcome = _not_sent(row, error)
            await asyncio.gather(*(self._send(leader, sent) for leader, sent in by_leader.items()))
        for row in rows:
            row.claimed.unknown = row if isinstance(row.outcome, AppendUnknown) else None

    async def _send(self, leader: Address, rows: Sequence[RowAppend]) -> None:
        by_partition = {row.place.partition: row for row in rows}
        request = produce_request({row.place: row.next_piece[2] for row in rows}, self._client.timeout_s)
        try:
            answer = await self._client.ask(leader, request)
        except TROUBLE as error:
            for row in rows:
                self._client.forget_leader(row.place)
                is_sent = not isinstance(error, BrokerConnectError)
                row.outcome = AppendUnknown(error) if is_sent else _not_sent(row, error)
            return
        for partition in answer.responses[0].partition_responses:
            await self._answered(by_partition[partition.index], partition)

    async def _answered(self, row: RowAppend, answer: PartitionProduceResponse) -> None:
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            if answer.base_offset == row.next_piece[0].base_offset + row.claimed.shift:
                row.written()
            else:
                row.claimed.is_broken = True
                row.outcome = AppendFenced()
        elif code in FENCED or code in LOG_CHANGED:
            row.claimed.is_fenced = code in FENCED
            row.claimed.is_broken = code in LOG_CHANGED
            row.outcome = await self._last_word(row)
        elif row.may_be_written and not code.retriable:
            row.claimed.is_broken = True  # a part of the row may be there, which will never count without the rest
            row.outcome = await self._last_word(row)
        else:
            self._client.forget_leader(row.place)
            error = BrokerError(code, answer.error_message)
            is_certain = code in REFUSED_UNWRITTEN and not row.may_be_written
            row.outcome = AppendFailed(refused(row.place, error)) if is_certain else AppendUnknown(error)

    async def _last_word(self, row: RowAppend) -> AppendOutcome:
        """Return the outcome under a claim that cannot append any more."""
        if not row.may_be_written:
            return AppendFenced()
        try:
            is_there = await self._was_kept(row.place, row.entries)
        except (BrokerError, LogStoreError, ProtocolError) as error:
            return AppendUnknown(error)
        return AppendDurable(row.end_offset) if is_there else AppendFenced()


def _not_sent(row: RowAppend, error: Exception) -> AppendOutcome:
    """Return the outcome of a row whose next piece did not reach a broker."""
    return AppendUnknown(error) if row.may_be_written else AppendFailed(not_sent(row.place, error))


async def encode(rows: Sequence[RowAppend]) -> None:
    """Encode rows, and let other work of the event loop have its turn every `SLICE_S`."""
    began = monotonic()
    for row in rows:
        for _ in row.encode():
            if monotonic() - began > SLICE_S:
                await asyncio.sleep(0)
                began = monotonic()
