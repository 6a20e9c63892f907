"""A lockstep with access rules: none at its start, and after each change it goes on when the change counts.

Kafka applies a change some time after its answer, at the broker and at the controller, which each decide for
themselves. Ours applies it before. Rules that stay different are a difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.conformance.lockstep import AGREE_S, Lockstep, Outcome
from tests.conformance.script import Step
from tests.support.wire import Wire

ANY: Final = 1  # as a type of resource, as a kind of pattern, as an operation and as a permission
EVERY_RULE: Final = DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY)
NO_RULE_LEFT: Final = DeleteAclsRequest([DeleteAclsFilter(ANY, None, ANY, None, None, ANY, ANY)])
CHANGES: Final = ("CreateAcls", "DeleteAcls")
VERSION: Final = 3


class AclLockstep(Lockstep):
    """One run. No other may use the same servers meanwhile: rules are for everyone."""

    def __init__(self, kafka_port: int, our_port: int, sasl_ports: tuple[int, int], controller_port: int) -> None:
        super().__init__(kafka_port, our_port, sasl_ports)
        self._ports = kafka_port, our_port, controller_port
        self._admins: list[Wire] = []

    async def run(self, next_step: Callable[[Lockstep], Step | None]) -> Outcome:
        self._admins = [await Wire.connect(port) for port in self._ports]
        try:
            kafka, ours, _ = self._admins
            await asyncio.gather(*(each.request(NO_RULE_LEFT, VERSION) for each in (kafka, ours)))
            await self._rules_alike()
            return await super().run(next_step)
        finally:
            for each in self._admins:
                await each.close()

    async def _step(self, step: Step) -> None:
        await super()._step(step)
        if step.get("api") not in CHANGES or self.outcome.difference is not None:
            return
        kafka, ours = await self._rules_alike()
        if kafka != ours:
            self._differ(len(self.script) - 1, "access rules are different afterwards", kafka - ours, ours - kafka)

    async def _rules_alike(self) -> tuple[set[Any], set[Any]]:
        """Wait until broker and controller decide by our rules, up to a time limit. Return Kafka's and ours."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        while True:
            broker, ours, controller = await asyncio.gather(*map(rules_of, self._admins))
            if broker == ours == controller or loop.time() - started > AGREE_S:
                return broker | controller, ours
            await asyncio.sleep(0.002)


async def rules_of(admin: Wire) -> set[tuple[Any, ...]]:
    """Return the rules by which a server decides."""
    answer = await admin.request(EVERY_RULE, VERSION)
    assert answer.error_code == 0, answer
    return {
        (each.resource_type, each.resource_name, each.pattern_type, *rule_of(acl))
        for each in answer.resources
        for acl in each.acls
    }


def rule_of(acl: Any) -> tuple[Any, ...]:
    return acl.principal, acl.host, acl.operation, acl.permission_type
