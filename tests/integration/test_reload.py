"""A partition whose invariant was broken is loaded from its log again, by the daemon itself."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.shard import PartitionState
from coordinator.server.server import Server
from coordinator.storage.memory_fs import IN_MEMORY
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.integration


async def test_a_partition_that_the_core_has_unloaded_is_served_again() -> None:
    server = Server(Config(listeners="127.0.0.1:0", log_dirs=IN_MEMORY, http_listen="off"))
    await server.start()
    try:
        runtime, core = server.runtime, server.runtime.core
        context = core._begin(runtime.now_ms())
        core._contain(RuntimeError("a broken invariant"), (), context, core.partition(0))
        runtime.execute(core._end(context))
        assert core.partition(0).state is PartitionState.LOADING
        runtime.end_of_event()
        await eventually_async(lambda: core.partition(0).state is PartitionState.ACTIVE or None, "it is served again")
        assert await runtime.load_again(0)
        await eventually_async(lambda: core.partition(0).state is PartitionState.ACTIVE or None, "it is served again")
        runtime.give_up(0)
        assert not await runtime.load_again(0)
    finally:
        await server.stop()
