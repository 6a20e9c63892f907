"""`coordinator undo GROUP`: sets a group's offsets back to those before its last reset.

`coordinator.history.resets` finds the reset in the log, made by any tool. Only the partitions it changed are set back.
Offsets it deleted are committed again; offsets it created are left alone, or deleted with --delete-new. An undo is a
reset itself, so a second undo takes back the first.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import load, reading_files, source_of
from coordinator.cli.reset.restore import add_reset, reset
from coordinator.cli.screen import number, tell
from coordinator.history.times import ago, local_time
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.history.resets import Reset
    from coordinator.history.tables import GroupHistory

DESCRIPTION: Final = """\
Take back the last reset of a group's offsets, made by any tool: the commits made while the group had no members.
Prints the plan; changes nothing without --execute, and then only if the group has no members.
An undo is a reset itself: a second undo takes back the first."""

EPILOG: Final = """\
examples:
  coordinator undo orders-service
  coordinator undo orders-service --execute"""

MANY: Final = 20  # more commits without members than this beside the reset come from a consumer, not from tools


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    add_reset(parser)


def run(arguments: argparse.Namespace) -> int:
    now = wall_ms()
    with reading_files():
        from coordinator.history.resets import last_reset

        past = load(arguments, source_of(arguments))
        found = last_reset(past.commits, past.records, past.compacted_to)
    if found is None:
        raise CliError(_none_found(past), 1)
    _tell_doubts(past, found)
    count = len(found.committed)
    headline = (
        f"offsets of group {past.group} before the reset of {count} partition{'s' * (count != 1)} at "
        f"{local_time(found.at_ms)} ({ago(found.at_ms, now)})"
    )
    touched = found.before.keys()
    return reset(arguments, found.before, headline, lambda topic, partition: (topic, partition) in touched)


def _none_found(past: GroupHistory) -> str:
    had_members = any(record.members for record in past.records)
    if had_members:
        reason = f"no reset of group {past.group!r} is known: everything was committed by its members"
    else:
        reason = (
            f"no reset of group {past.group!r} is known: it never had members, and no commit of it went back, "
            "so a reset cannot be told from a consumer's own commits"
        )
    if past.compacted_to:
        reason += " (the log was compacted before its history was extracted; older ones are lost)"
    return f"{reason}; `coordinator restore {past.group} --at TIME` goes back to any time"


def _tell_doubts(past: GroupHistory, found: Reset) -> None:
    if found.went_back:
        tell(
            f"group {past.group} never had members, so its last commit that went back is taken for the reset; "
            "check the plan, and `coordinator history commits`"
        )
    elif found.others_while_empty > MANY:
        tell(
            f"{number(found.others_while_empty)} more commits came while the group had no members: if a consumer "
            "without group membership uses this group, this may be its own last commit"
        )
    if found.commits_since:
        tell(
            f"the group has committed {_times(found.commits_since)} since that reset; "
            "undoing it takes these partitions back to before those commits too"
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number(count)} times"
