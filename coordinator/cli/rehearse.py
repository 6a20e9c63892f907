"""`coordinator rehearse -- COMMAND`: play the migration of an application to the consumer protocol (KIP-848) and back.

A server is started, and copies of the application that are told by variables where to consume and with which protocol.
They are restarted one by one: classic, mixed, consumer, mixed, classic. The report has a table and the findings.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import signal
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from coordinator.cli.errors import CliError
from coordinator.cli.table import Row, escaped, table
from coordinator.cli.torture import FAILED, positive
from coordinator.cli.torture import copies as copies_of
from coordinator.config.sources import load
from coordinator.rehearse.findings import findings
from coordinator.rehearse.play import SETTINGS, RehearsalListener, RehearsalPlan, rehearse
from coordinator.rehearse.record import MigrationFinding, PhaseRecord, Rehearsal
from coordinator.server.server import loop_factory
from coordinator.torture.copies import PROTOCOL_VARIABLES, VARIABLES, kill_all
from coordinator.torture.play import AppError

DESCRIPTION: Final = "Rehearse the migration of an application to group.protocol=consumer (KIP-848), and back."

EPILOG: Final = f"""\
The command is started in several copies, and told by variables, or by {{name}} in its words:
  {", ".join((*VARIABLES.values(), *PROTOCOL_VARIABLES.values()))}
It consumes KAFKA_TOPIC as a member of KAFKA_GROUP_ID from the beginning with group.protocol as KAFKA_GROUP_PROTOCOL
says (classic or consumer), and commits what it has processed. With --output it also writes the value of each record to
KAFKA_OUTPUT_TOPIC before it commits: then it is counted what was processed twice.

examples:
  coordinator rehearse -- ./my-app
  coordinator rehearse --copies 3 -- ./my-app --brokers {{bootstrap_servers}} --group-protocol {{group_protocol}}

exit code: 0 if there is no finding, 1 if there is one, 2 if the application does not start or consume"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--copies", metavar="N", type=_copies, default=2, help="of the application, 2 to 9; default: 2")
    add("--partitions", metavar="N", type=positive, default=4, help="of the topic; default: 4")
    add("--patience", metavar="S", type=float, default=12.0, help="seconds without a commit after which it is stuck")
    add("--startup", metavar="S", type=float, default=30.0, help="seconds until a copy is a member; default: 30")
    add("--output", action="store_true", help="it writes the value of each record that it has processed to the output")
    add("--json", action="store_true", help="print the report as JSON")
    add("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the application, behind --")


def run(arguments: argparse.Namespace) -> int:
    command = tuple(arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command)
    if not command:
        raise CliError("give the application behind --, for example: coordinator rehearse -- ./my-app")
    logging.disable(logging.CRITICAL)  # of the server
    directory = Path(tempfile.mkdtemp(prefix="coordinator-rehearse-"))
    plan = RehearsalPlan(
        command,
        load(flags={"listeners": "127.0.0.1:0", "http.listen": "off", **SETTINGS}, profile="test"),
        directory,
        copies=arguments.copies,
        partitions=arguments.partitions,
        patience_s=arguments.patience,
        startup_s=arguments.startup,
        has_output=arguments.output,
    )
    listener = RehearsalListener() if arguments.json else RehearsalLines()
    if not arguments.json:
        print(
            f"{plan.copies} copies, {plan.partitions} partitions; the protocol is in KAFKA_GROUP_PROTOCOL", flush=True
        )
    handler = signal.signal(signal.SIGTERM, _interrupted)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            rehearsal = runner.run(rehearse(plan, listener))
    except AppError as error:
        raise CliError(str(error), 2) from None
    finally:
        kill_all()
        signal.signal(signal.SIGTERM, handler)
        logging.disable(logging.NOTSET)
        shutil.rmtree(directory, ignore_errors=True)
    found = findings(rehearsal)
    print(as_json(rehearsal, found) if arguments.json else escaped(report(rehearsal, found)))
    return FAILED if found else 0


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _copies(text: str) -> int:
    number = copies_of(text)
    if number < 2:
        raise argparse.ArgumentTypeError("a rehearsal needs 2 copies, one for each protocol")
    return number


class RehearsalLines(RehearsalListener):
    """Tells a rehearsal in lines, one for each phase."""

    def ended(self, phase: PhaseRecord, number: int, count: int) -> None:
        word = "ended here" if phase.ended or phase.absent else "stuck" if phase.unread else "played"
        who = ", ".join(f"{client} {protocol}" for client, protocol in phase.protocols.items())
        print(f"{number:4}/{count}  {phase.name:16} {word:10} {phase.took_s:5.1f} s  {who}", flush=True)


def report(rehearsal: Rehearsal, found: list[MigrationFinding]) -> str:
    """Return the tables and the findings as text."""
    parts = [
        f"longest time without an owner / without a commit of each partition, in seconds\n{table(_times(rehearsal))}",
        table(_counts(rehearsal)),
        f"callbacks, as the requests show them\n{table(_callbacks(rehearsal))}",
    ]
    for finding in found:
        where = ", ".join(finding.phases)
        parts.append(
            f"{finding.kind.value.upper()} ({where})\n  {_indented(finding.sentence)}\n  next: {finding.advice}"
        )
    missing = [each.name for each in rehearsal.phases if not each.is_played]
    rest = f"; not played: {', '.join(missing)}" if missing else ""
    count = f"{len(found) or 'no'} finding{'s' * (len(found) != 1)}"
    return "\n" + "\n\n".join([*parts, f"{count}, in {rehearsal.took_s:.0f} s{rest}"])


def as_json(rehearsal: Rehearsal, found: list[MigrationFinding]) -> str:
    """Return the report for programs."""
    return msgspec.json.encode({"findings": found, **msgspec.to_builtins(rehearsal)}).decode()


def _times(rehearsal: Rehearsal) -> list[Row]:
    partitions = sorted({number for phase in rehearsal.played for number in phase.standstill_s})
    return [
        {
            "PARTITION": number,
            **{
                phase.name.upper(): f"{phase.without_owner_s[number]:.2f} / {phase.standstill_s[number]:.2f}"
                for phase in rehearsal.played
            },
        }
        for number in partitions
    ]


def _counts(rehearsal: Rehearsal) -> list[Row]:
    """Return what is counted in each phase."""
    return [
        {
            "PHASE": phase.name,
            "REFUSED COMMITS": sum(each.count for each in phase.refused if each.request.endswith("OffsetCommit")),
            "LATE COMMITS": len(phase.late_commits),
            "SENT AGAIN": sum(phase.sent_again.values()),
            "PROCESSED TWICE": phase.processed_twice,
            "ASSIGNORS": ", ".join(phase.assignors) or None,
        }
        for phase in rehearsal.played
    ]


def _callbacks(rehearsal: Rehearsal) -> list[Row]:
    """Return the callbacks of each copy in their order; those that it printed, too, if any copy printed some."""
    rows: list[Row] = []
    prints = any(phase.printed_callbacks for phase in rehearsal.played)
    for phase in rehearsal.played:
        by_client = sorted(phase.callbacks, key=lambda each: (each.client, each.at_s))
        for client, some in groupby(by_client, key=lambda each: each.client):
            told = "; ".join(f"{each.kind.value} {' '.join(map(str, each.partitions))}" for each in some)
            printed = {"PRINTED": "; ".join(phase.printed_callbacks.get(client, ()))} if prints else {}
            rows.append({"PHASE": phase.name, "COPY": client, "CALLBACKS": told, **printed})
    return rows


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
