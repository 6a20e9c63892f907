"""Readers of a partition: how far each client has been sent its records.

A fetch names no group and no member, so a reader is known by its client id and host. Two consumers with the same client
id on one host are one reader here; what is kept is that of the last one. While they take turns, the reader is ambiguous
and nothing is told of it. Two consumers of which each has read once look like one that connected again.
`take_read_up_to` forgets the reader, because its partition gets another owner, which may have the same client id.
Only the last partition.max.readers of a partition are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.partition import Partition

UNKNOWN: Final = -1
_NO_SESSION: Final = 0


class Reader:
    """One client that reads a partition."""

    __slots__ = ("client_host", "client_id", "end_offset", "former_session", "is_ambiguous", "session")

    def __init__(self, ticket: Ticket) -> None:
        self.client_id = ticket.client_id
        self.client_host = ticket.client_host
        self.session = _connection_of(ticket)  # its connection, which is not kept alive by it
        self.former_session = _NO_SESSION
        self.end_offset = UNKNOWN  # after the last record that was sent
        self.is_ambiguous = False

    def came_from(self, session: int) -> None:
        """Take the connection of a read. A return to the former connection shows that there are two clients."""
        if session != self.session:
            if session == self.former_session:
                self.is_ambiguous = True
            self.former_session, self.session = self.session, session


def note_read(partition: Partition, ticket: Ticket, end_offset: int) -> None:
    """Remember that the client of this ticket is sent the records up to this offset."""
    readers = partition.readers
    if readers is not None:
        last: Reader = readers[-1]
        if (
            last.session == _connection_of(ticket)
            and last.client_id == ticket.client_id
            and last.client_host == ticket.client_host
        ):
            last.end_offset = end_offset
            return
    _reader(partition, ticket).end_offset = end_offset


def _reader(partition: Partition, ticket: Ticket) -> Reader:
    """Return the reader of this ticket, the last of the list now."""
    readers = partition.readers
    if readers is None:
        readers = partition.readers = []
    index = _index(readers, ticket.client_id, ticket.client_host)
    if index >= 0:
        reader = readers.pop(index)
        reader.came_from(_connection_of(ticket))
    else:
        reader = Reader(ticket)
        if len(readers) >= partition.most_readers:
            del readers[0]
    readers.append(reader)
    return reader


def _connection_of(ticket: Ticket) -> int:
    """Return the identity of the connection. A session that wraps it for one request has it as `connection`."""
    return id(getattr(ticket.session, "connection", ticket.session))


def _index(readers: list[Reader], client_id: str, client_host: str) -> int:
    for index, reader in enumerate(readers):
        if reader.client_id == client_id and reader.client_host == client_host:
            return index
    return -1


def take_read_up_to(partition: Partition, client_id: str, client_host: str) -> int:
    """Return the offset after the last record that a client was sent, or UNKNOWN, and forget the client."""
    readers = partition.readers
    index = -1 if readers is None else _index(readers, client_id, client_host)
    if readers is None or index < 0:
        return UNKNOWN
    reader = readers.pop(index)
    if not readers:
        partition.readers = None
    return UNKNOWN if reader.is_ambiguous else reader.end_offset
