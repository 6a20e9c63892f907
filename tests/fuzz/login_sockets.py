"""Frames of strangers to a daemon, over TLS and without, and raw bytes where TLS is due.

Meanwhile a member of a group heartbeats. At the end it is in its generation still, the daemon has as many files open as
before, and has not grown.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from coordinator.security.credentials import document_of
from coordinator.security.scram import BY_NAME, credential_of
from coordinator.storage.file_names import USERS_NAME
from protocol.error_codes import ErrorCode
from tests.conformance.sasl_script import USERS
from tests.fuzz.edits import edited
from tests.fuzz.strangers import Stranger
from tests.support.daemon import Daemon
from tests.support.eventually import eventually_async
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.secured import Secured
from tests.support.wire import Wire

TOPIC: Final = "orders"
AT_ONCE: Final = 20
ANSWER_S: Final = 0.03  # how long a stranger waits: many answers are late, or never come
BETWEEN_HEARTBEATS_S: Final = 0.1
SHUTDOWN_S: Final = 0.3
MOST_GROWTH_KB: Final = 40_000
WARM_UP: Final = 5  # one in so many frames comes before the first look at the memory
WAYS: Final = ("SASL", "SASL", "SASL_SSL", "SASL_SSL", "SHORT", "SSL", "MTLS", "raw SASL_SSL", "raw SSL")


class Figures(NamedTuple):
    frames: Counter[str]  # by the way in
    heartbeats: int
    files: tuple[int, int]  # open ones, before and after
    memory_kb: tuple[int, int]
    lines: int  # in the log


def run(directory: Path, seed: int, frames: int) -> Figures:
    """Send frames to a daemon of their own. AssertionError says which rule was broken."""
    daemon = Secured(directory, topics=[f"{TOPIC}:4"])
    rows = BY_NAME.values()
    users = {user: {row: credential_of(row, word, b"salt", 4096) for row in rows} for user, word in USERS.items()}
    (daemon.data_dir / USERS_NAME).write_text(document_of(users))
    with daemon:
        return asyncio.run(_Strangers(daemon, seed, frames).run())


class _Strangers:
    def __init__(self, daemon: Secured, seed: int, frames: int) -> None:
        self._daemon = daemon
        self._seed = seed
        self._most = frames
        self._sent: Counter[str] = Counter()
        self._begun = 0
        self._heartbeats = 0
        self._trusting = ssl.create_default_context(cafile=str(daemon.authority.pem))

    async def run(self) -> Figures:
        async with await Wire.connect(self._daemon.port) as wire:
            member = await alone_in_group(wire, "the-members-group", TOPIC, 4)
            generation = member.generation
            beating = asyncio.create_task(self._beat(member))
            files = open_files(self._daemon)
            await self._send_until(self._most // WARM_UP)
            before_kb = self._daemon.memory_kb()
            await self._send_until(self._most)
            await eventually_async(lambda: open_files(self._daemon) <= files, "all files of strangers are closed")
            files_left, after_kb = open_files(self._daemon), self._daemon.memory_kb()
            assert after_kb - before_kb < MOST_GROWTH_KB, f"it has grown from {before_kb} to {after_kb} kB"
            assert not beating.done(), "a heartbeat failed"
            beating.cancel()
            assert await member.commit({(TOPIC, 0): 7}) is ErrorCode.NONE
            assert member.generation == generation
        lines = len(self._daemon.log_lines())
        return Figures(self._sent, self._heartbeats, (files, files_left), (before_kb, after_kb), lines)

    async def _beat(self, member: GroupMember) -> None:
        while True:
            code = await member.heartbeat()
            assert code is ErrorCode.NONE, code
            self._heartbeats += 1
            await asyncio.sleep(BETWEEN_HEARTBEATS_S)

    async def _send_until(self, frames: int) -> None:
        async def one_after_another() -> None:
            while self._sent.total() < frames:
                chance = Random(f"{self._seed}/{self._begun}")
                self._begun += 1
                with contextlib.suppress(OSError):  # the daemon closed the connection
                    await self._play(chance.choice(WAYS), chance)

        await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))

    async def _play(self, way: str, chance: Random) -> None:
        """Be one stranger, on a listener, who speaks TLS if that is due, unless it is to get raw bytes."""
        name = way.removeprefix("raw ")
        context = self._trusting if name == way and name.endswith("SSL") else None
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._daemon.ports[name], ssl=context, ssl_shutdown_timeout=SHUTDOWN_S if context else None
        )
        stranger = Stranger(chance)
        try:
            if name != way and chance.random() < 0.7:
                self._sent[way] += 1
                writer.write(edited(client_hello(self._trusting), chance))
            for data in stranger.reads():
                writer.write(data)
                answer = await _answer(reader)
                if answer == b"":
                    break
                stranger.hear(answer or b"")
        finally:
            self._sent[way] += stranger.sent
            if chance.random() < 0.5:
                writer.transport.abort()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> bytes | None:
    """Return what is answered soon; None if nothing is, and no bytes at the end."""
    try:
        async with asyncio.timeout(ANSWER_S):
            return await reader.read(1 << 16)
    except TimeoutError:
        return None


def client_hello(context: ssl.SSLContext) -> bytes:
    """Return the first bytes of a client with TLS."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def open_files(daemon: Daemon) -> int:
    return sum(1 for _ in Path(f"/proc/{daemon.pid}/fd").iterdir())
