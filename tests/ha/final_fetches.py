"""The last look at all offsets, when every fault is healed: `python -m tests.ha.final_fetches --bootstrap … `.

The fetches are part of the history, marked as final. A key that cannot be fetched in time stays without.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from random import Random

from tests.ha.clients.calls import GroupCaller, NotSentError, OpenError, RefusedError
from tests.ha.clients.library import UNKNOWN_TOPIC
from tests.ha.history import COMMIT, FETCH, History, Key, Process, read_history

FINAL_S = 60.0


async def fetch_all(path: Path, addresses: list[tuple[str, int]], topic: str) -> None:
    """Fetch every key that a client ever committed. An empty `topic`: that of clients without one."""
    keys = sorted({each.key for each in read_history([path]) if each.kind == COMMIT})
    topic = topic or UNKNOWN_TOPIC
    deadline = time.monotonic() + FINAL_S
    with History(path) as history:
        process = history.process("judge-0")
        for key in keys:
            caller = GroupCaller(addresses, key.group, Random(0))
            while not await _fetched(process, caller, topic, key) and time.monotonic() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            await caller.leave()


async def _fetched(process: Process, caller: GroupCaller, topic: str, key: Key) -> bool:
    process.invoke(FETCH, key, is_final=True)
    try:
        process.ok(await caller.fetch(topic, key))
    except (NotSentError, OpenError, RefusedError) as error:
        process.info(error)
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True, help="host:port,host:port")
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--topic", default="")
    options = parser.parse_args()
    pairs = (address.rpartition(":") for address in options.bootstrap.split(","))
    asyncio.run(fetch_all(options.history, [(host, int(port)) for host, _, port in pairs], options.topic))


if __name__ == "__main__":
    main()
