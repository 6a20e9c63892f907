"""The commands of how-to pages are typed against a daemon. Pages with a story have their own tests.

A block has a step, which prepares what the page takes for granted and types it. Names that a page could not know, such
as an id of a member, are replaced. Where a page shows a table, the table that is printed has the same columns.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from tests.docs.blocks import Block, blocks
from tests.docs.commands import typed_text
from tests.docs.stage import _free_port
from tests.docs.world import World
from tests.support.transactional import read, transactional_producer

Step = Callable[[World, Block], None]

_COLUMNS: Final = re.compile(r"^[A-Z][A-Z-]+(?: +[A-Z][A-Z-]*)+$", re.MULTILINE)


def columns(text: str) -> list[list[str]]:
    return [line.split() for line in _COLUMNS.findall(text)]


def typed(world: World, block: Block) -> None:
    """Type the block as it is."""
    typed_with()(world, block)


def typed_with(folder: str = ".", **replaced: str) -> Step:
    """Return a step that types the block in a folder, with other words for some."""

    def step(world: World, block: Block) -> None:
        text = typed_text(block)
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        printed = world.type(text, folder=folder)
        if block.text != text:
            missing = [each for each in columns(block.text) if each not in columns(printed)]
            assert not missing, f"{missing} not in\n{printed}"

    return step


def replaced(*pairs: tuple[str, str], folder: str = ".") -> Step:
    return typed_with(folder, **dict(pairs))


def members_are_removed(world: World, block: Block) -> None:
    bob = world.member("shop", "bob")
    world.member("web", "web", instance_id="web-7")
    replaced(("bob-de12382d", bob.member_id[: len("bob-de12382d")]))(world, block)


def a_copy_is_served(world: World, block: Block) -> None:
    shutil.copytree(world.stopped_data, world.directory / "taken-over" / "copy")
    any_port = {"COORDINATOR_LISTENERS": "127.0.0.1:0", "COORDINATOR_HTTP_LISTEN": "off"}
    with world.serving(block.text, folder="taken-over", **any_port):
        pass


def a_daemon_with_a_token_serves(world: World, block: Block) -> None:
    (world.directory / "admin").mkdir()
    (world.directory / "admin" / "token").write_text("a secret of sixteen\n")
    any_port = {"COORDINATOR_LISTENERS": "127.0.0.1:0", "COORDINATOR_HTTP_LISTEN": "127.0.0.1:0"}
    with world.serving(block.text, folder="admin", **any_port):
        pass


def three_nodes_serve(world: World, block: Block) -> None:
    ports = [_free_port() for _ in range(3)]
    text = block.text.replace("$((9091 + id))", "${PORTS[id - 1]}")
    for written, port in zip(("9092", "9093", "9094"), ports, strict=True):
        text = text.replace(written, str(port))
    text = f"PORTS=({' '.join(map(str, ports))})\n{text}wait\n"
    with world.serving(text, folder="three"):
        for port in ports:
            command = f"until coordinator topics list -b 127.0.0.1:{port}; do sleep 0.1; done 2>/dev/null"
            world.type(command)
        described = world.type(f"coordinator cluster describe -b 127.0.0.1:{ports[0]}")
        assert all(f"127.0.0.1:{port}" in described for port in ports)


def offsets_were_reset(world: World, block: Block) -> None:
    """Reset the offsets by mistake, as the page has it, and type the commands that undo it, with a time before it."""
    reset = "coordinator groups reset-offsets orders-service --to-earliest --topic orders --execute"
    text = typed_text(block).replace(
        "kafka-consumer-groups.sh … --group orders-service --reset-offsets --to-earliest --topic orders --execute",
        reset,
    )
    before = datetime.now(UTC).isoformat(timespec="milliseconds")
    time.sleep(0.01)
    if reset not in text:
        world.type(reset)
    text = re.sub(r"2026-\S+Z", before.replace("+00:00", "Z"), text)
    printed = columns(world.type(text))
    assert all(each in printed for each in columns(block.text))


def open_transaction(world: World) -> int:
    """Open a transaction of payments-1, and return the offset of its record."""
    producer = transactional_producer(world.daemon.address, "payments-1")
    producer.begin_transaction()
    offsets: list[int] = []
    producer.produce("payments", b"42", on_delivery=lambda _, message: offsets.append(message.offset()))
    producer.flush()
    return offsets[0]


def a_transaction_is_aborted(world: World, block: Block) -> None:
    open_transaction(world)
    world.type(block.text)
    assert "payments-1" not in world.type("coordinator transactions list --state Ongoing")


def a_transaction_is_aborted_by_its_offset(world: World, block: Block) -> None:
    """Type the block. It writes a marker, after which readers go on; the transaction's coordinator is not told."""
    world.type(block.text.replace("1204", str(open_transaction(world))))
    world.type("coordinator transactions abort payments-1")
    assert read(world.daemon.address, "payments") == []


def passwords_are_given(world: World, block: Block) -> None:
    """Give by a variable the password that is asked for in a terminal. The daemon of the directory does not run."""
    (world.directory / "first-node" / "data").mkdir(parents=True)
    world.type(f"export COORDINATOR_USER_PASSWORD=secret-of-both\n{block.text}", folder="first-node")


STEPS: Final[dict[str, dict[str, Step]]] = {
    "docs/cli.md": {
        "export COORDINATOR_BOOTSTRAP_SERVER=kafka.example:9092": typed,
        "$ coordinator groups describe shop": typed,
        "coordinator groups reset-offsets shop --topic orders --to-ea": typed,
        "coordinator groups reset-offsets shop --all-topics --to-curr": typed,
        "coordinator groups kick shop bob-de12382d --reason 'stuck si": members_are_removed,
        "echo 'source <(coordinator completion bash)' >> ~/.bashrc": typed,
    },
    "docs/cluster.md": {"NODES=1@127.0.0.1:9092,2@127.0.0.1:9093,3@127.0.0.1:9094": three_nodes_serve},
    "docs/compaction.md": {
        # the last line stays; the tutorial and tests/cli/compact have it
        "pip install 'kafka-group-coordinator[spark]' # and Java 17 o": replaced(("coordinator compact --watch", "#")),
    },
    "docs/console.md": {
        'COORDINATOR_HTTP_ADMIN_TOKEN="$(cat token)" coordinator serv': a_daemon_with_a_token_serves,
        "curl -sS 'http://127.0.0.1:9080/api/group?id=shop'": typed,
    },
    "docs/history-sql.md": {"pip install 'kafka-group-coordinator[history]'": typed},
    "docs/history.md": {
        "pip install 'kafka-group-coordinator[history]' # duckdb, pya": typed,
        "$ coordinator history rebalances orders-service": typed,
        "coordinator history events orders-service --since -1d": typed,
        "$ coordinator history rate orders-service --window 10s": typed,
        "$ coordinator history stalled orders-service --for 30s --unt": replaced(
            ("--for 30s --until 2026-11-22T00:02:57.046Z", "--for 1ms")
        ),
        "$ coordinator history commits orders-service --partition 3 -": typed,
        '$ coordinator history sql "SELECT r.group, sum(r.moved) AS m': typed,
        "$ coordinator history extract": typed,
    },
    "docs/log-verify.md": {"coordinator log verify data # a data directory, its workers": typed_with("stopped")},
    "docs/operations.md": {"coordinator serve --data-dir copy --override node.id=1": a_copy_is_served},
    "docs/report.md": {"pip install 'kafka-group-coordinator[history]'": typed},
    "docs/restore.md": {
        "coordinator restore orders-service --at 2026-11-20T14:05Z #": offsets_were_reset,
        "$ coordinator restore orders-service --at 2026-11-22T00:02:1": offsets_were_reset,
        "$ kafka-consumer-groups.sh … --group orders-service --reset-": offsets_were_reset,
    },
    "docs/secure-cluster.md": {"coordinator users add admin --data-dir data": passwords_are_given},
    "docs/stuck-groups.md": {"$ coordinator groups explain shop": typed},
    "docs/transactions.md": {
        "coordinator transactions list --state Ongoing --duration-fil": a_transaction_is_aborted,
        "$ coordinator groups explain readers": typed,
        "coordinator transactions abort --topic payments --partition": a_transaction_is_aborted_by_its_offset,
    },
    "docs/whatif.md": {
        "coordinator whatif orders-service --set session.timeout.ms=4": typed,
    },
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    try:
        yield world
    finally:
        world.close()


@pytest.mark.integration
@pytest.mark.parametrize(
    "block",
    [block for page, steps in STEPS.items() for block in blocks(page) if block.name in steps],
    ids=lambda block: block.where,
)
def test_the_commands_of_a_page_work(world: World, block: Block) -> None:
    STEPS[block.page][block.name](world, block)


def test_each_step_has_its_block() -> None:
    for page, steps in STEPS.items():
        assert steps.keys() <= {block.name for block in blocks(page)}
