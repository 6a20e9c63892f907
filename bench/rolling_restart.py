"""`make bench-rolling_restart`: three nodes are stopped and started again in turn, and clients work on meanwhile.

The nodes share a PostgreSQL with a synchronous standby, or a Kafka with three brokers (`--engine kafka`). Each node is
ended by SIGTERM and starts again; the next one follows when every partition is where it was. Clients are those of
`tests.ha`: consumers of aiokafka, confluent-kafka and kafka-python, with and without members, and raw ones. Each of
them commits or fetches every 50 ms or so. A group is idle from one success of its clients to the next one. Members must
be the same at the end, and the libraries must not have joined again (raw clients do so all the time).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict
from bench.measure import BenchError
from bench.report import markdown_table
from bench.shared_engines import ENGINES, BenchEngine, engine_parser, with_engine
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.ha.asking import ask, spread
from tests.ha.figures import longest_silences
from tests.ha.history import COMMIT, JOIN, OK, Operation, read_history
from tests.ha.nemesis import PastFault
from tests.ha.nodes import EngineNodes
from tests.ha.run import CLIENTS, LIBRARIES, Clients
from tests.ha.verdict import HISTORY

NODES: Final = (1, 2, 3)
TOPIC: Final = "orders:4"
GROUPS: Final = 3  # of each client program
MEMBER_GROUPS: Final = [f"{library}-members-{number}" for library in LIBRARIES for number in range(GROUPS // 2)]
WARM_UP_S: Final = 8.0
STEADY_S: Final = 2.0  # after a node is back
MOST_IDLE_S: Final = 2.0
MOVED_S: Final = 60.0


class Restarted(NamedTuple):
    """A node that was stopped and started again. Times in s."""

    node: int
    fault: PastFault
    stop_s: float
    start_s: float


async def restart(nodes: EngineNodes, number: int) -> Restarted:
    node = nodes.nodes[number]
    began = time.monotonic()
    if code := await node.terminate():
        raise BenchError(f"node {number} ended with exit code {code}: {node.daemon.log_tail()}")
    stopped = time.monotonic()
    await node.start()
    started = time.monotonic()
    async with asyncio.timeout(MOVED_S):
        await spread(nodes, number, set(NODES))
    await asyncio.sleep(STEADY_S)
    fault = PastFault(f"node {number}", number, int(began * 1e9), int(started * 1e9), time.monotonic_ns())
    return Restarted(number, fault, stopped - began, started - stopped)


async def members(nodes: EngineNodes) -> dict[str, list[str]]:
    """Return the member ids of each group of the libraries."""
    found = {}
    for group in MEMBER_GROUPS:
        asked = await ask(nodes, NODES[0], FindCoordinatorRequest(coordinator_keys=[group]), 4)
        described = await ask(nodes, asked.coordinators[0].node_id, DescribeGroupsRequest(groups=[group]), 5)
        found[group] = sorted(member.member_id for member in described.groups[0].members)
    return found


async def restart_each(engine: BenchEngine, directory: Path, times: int) -> tuple[list[Restarted], set[str]]:
    """Restart each node so many times. Returns the restarts, and the groups whose members are others afterwards.

    The history of the clients is in the directory afterwards.
    """
    options = argparse.Namespace(groups=GROUPS, clients=",".join(CLIENTS), seed=1, topic=TOPIC)
    async with EngineNodes(directory, engine, len(NODES), TOPIC) as nodes:
        await spread(nodes, 1, set(NODES))
        clients = Clients(directory, nodes.bootstrap, options)
        try:
            await asyncio.sleep(WARM_UP_S)
            before = await members(nodes)
            found = [await restart(nodes, number) for _ in range(times) for number in NODES]
            after = await members(nodes)
            if not all(before.values()):
                raise BenchError(f"a group had no members before the first restart: {before}")
            if said := clients.complaints() + nodes.complaints():
                raise BenchError(said[0])
        finally:
            await asyncio.to_thread(clients.stop)
    return found, {group for group in before if before[group] != after[group]}


def rows(history: list[Operation], restarted: list[Restarted]) -> list[list[str]]:
    """The rows of a table: one for each restart."""
    table = []
    for each in restarted:
        of_all, worst = longest_silences(history, [each.fault])[each.fault.kind]
        within = [one for one in history if each.fault.began_ns < one.start < each.fault.until_ns]
        commits = [one for one in within if one.kind == COMMIT]
        acknowledged = sum(one.outcome == OK for one in commits)
        table.append([
            str(each.node), f"{each.stop_s:.2f}", f"{each.start_s:.2f}", f"{acknowledged:,}",
            str(len(commits) - acknowledged), f"{of_all.seconds:.2f}", f"{worst.seconds:.2f}", worst.group,
        ])  # fmt: skip
    return table


def joins(history: list[Operation], restarted: list[Restarted]) -> int:
    """Count the joins of libraries from the first stop on."""
    began, until = restarted[0].fault.began_ns, restarted[-1].fault.until_ns
    joined = (each for each in history if each.kind == JOIN and each.key.group in MEMBER_GROUPS)
    return sum(began < each.start < until for each in joined)


def measure_all(findings: Findings, engine: BenchEngine, args: argparse.Namespace) -> None:
    engine.new_database()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        restarted, changed = asyncio.run(restart_each(engine, Path(name), args.repetitions))
        history = read_history([Path(name) / HISTORY])
    table = rows(history, restarted)
    headings = ["node", "stop, s", "start, s", "commits", "not acknowledged", "no success of any client, s"]
    headings += ["of one group, s", "which"]
    findings.table(f"Each node in turn: {ENGINES[args.engine]}", markdown_table(headings, table))
    findings.raw |= {"restarts": table, "changed groups": sorted(changed)}
    findings.verdicts.append(Verdict("longest idle time of a group", MOST_IDLE_S, "s", max(float(r[6]) for r in table)))
    findings.verdicts.append(Verdict("groups whose members changed", 0, "groups", len(changed)))
    findings.verdicts.append(Verdict("joins of libraries", 0, "joins", joins(history, restarted)))


def main() -> int:
    arguments = engine_parser(__doc__)
    arguments.add_argument("--repetitions", type=int, help="of the restart of each node (default 3; --quick 1)")
    args = arguments.parse_args()
    args.repetitions = args.repetitions or (1 if args.quick else 3)
    return with_engine("rolling_restart", "A rolling restart with a shared store", args, measure_all)


if __name__ == "__main__":
    sys.exit(main())
