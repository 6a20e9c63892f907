"""`coordinator groups explain GROUP`: one sentence on what a group is now and why, advice, and its last rebalances.

The group's coordinator is asked for its story (ExplainGroup), from which the rules of `coordinator.explain` conclude.
That request is not part of Kafka's protocol, so it is sent without negotiation; a real Kafka ends the connection, and
the command then says what DescribeGroups tells.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from coordinator.cli.arguments import add_server
from coordinator.cli.client import Client, NodeConnection, UnreachableError, client_of
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import DescribedGroup, describe
from coordinator.cli.groups.selection import not_found
from coordinator.cli.groups.transaction_facts import note_transactions
from coordinator.cli.table import Row, as_columns
from coordinator.console.model import GroupPage, Problem
from coordinator.core.events.model import ClientInfo, LiveGroup, Rebalance, RebalanceOutcome, Story, decode_story
from coordinator.core.events.words import duration
from coordinator.explain.rules import explain
from coordinator.explain.transactions import held_back
from coordinator.explain.words import clock_time, count
from protocol.error_codes import ErrorCode
from protocol.messages.explain_group import ExplainGroupRequest, ExplainGroupResponse

DESCRIPTION: Final = "Say in one sentence what a group is now and why, what to do, and what its last rebalances cost."

EPILOG: Final = """\
examples:
  coordinator groups explain orders-service
  coordinator groups explain orders-service --watch
  coordinator groups explain orders-service --json --last 20

docs/stuck-groups.md explains each cause."""

COLUMNS: Final = (
    "WHEN",
    "CAUSE",
    "CULPRIT",
    "MEMBERS",
    "TOOK",
    "LAST-TO-JOIN",
    "LATE-MEMBER",  # of a KIP-848 group, in its place
    "MOVED",
    "UNOWNED-S",
    "READ-TWICE",
    "OUTCOME",
)
RIGHT: Final = ("TOOK", "MOVED", "UNOWNED-S", "READ-TWICE")
LAST: Final = 5
WATCH_S: Final = 1.0
CLEAR: Final = "\x1b[H\x1b[2J"
NAMES_SHOWN: Final = 5
CONSUMER: Final = "consumer"
MOST_LATE_MS: Final = 1_000  # the last one to join is named if it came so much later


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_watch_arguments(parser)
    parser.add_argument(
        "--watch", action="store_true", help="again each second; not on a terminal: a line whenever the verdict changes"
    )


def add_watch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--last", metavar="N", type=_number, default=LAST, help=f"how many rebalances to show; default: {LAST}"
    )
    add_server(parser)
    parser.add_argument(
        "--http",
        metavar="ADDRESS",
        help="ask the console at host:port or https://host:port, of a daemon or of `coordinator observe`; a token is "
        "taken from COORDINATOR_HTTP_TOKEN, or from http.token in the file of --command-config",
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts and the whole story, for programs")


def _number(text: str) -> int:
    found = int(text)
    if not 0 <= found <= 1_000_000:
        raise ValueError(text)
    return found


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        return watch(arguments)
    story = ask(arguments)
    print(_json(story) if arguments.json else page(story, arguments.last))
    return 0


def watch(arguments: argparse.Namespace) -> int:
    """Show the verdict until Ctrl-C. A coordinator that cannot be reached later is a sentence, and no end."""
    shown: object = None
    story: Story | None = ask(arguments)
    problem = ""
    while True:
        verdicts = explain(story) if story is not None else []
        if sys.stdout.isatty() and not arguments.json:
            text = page(story, arguments.last) if story is not None else printable(problem)
            print(f"{CLEAR}{arguments.group!r} at {datetime.now():%H:%M:%S}; Ctrl-C ends\n\n{text}", flush=True)
        elif shown != (new := (verdicts[0].code, verdicts[0].culprit.name) if verdicts else problem):
            shown = new
            sentence = printable(verdicts[0].sentence if verdicts else problem)
            if not arguments.json:
                print(f"{datetime.now():%H:%M:%S}  {sentence}", flush=True)
            elif story is not None:
                print(_json(story), flush=True)
        time.sleep(WATCH_S)
        try:
            story = ask(arguments)
        except CliError as error:
            story, problem = None, str(error)


# -- the question ------------------------------------------------------------------------------------------------


def ask(arguments: argparse.Namespace) -> Story:
    """Ask the group's coordinator for its story, or a console."""
    group: str = arguments.group
    if arguments.http is not None:
        return _ask_console(arguments)
    with client_of(arguments) as client:
        _, connection = client.coordinator(group)

        def once() -> tuple[int, ExplainGroupResponse]:
            answer = connection.call_unlisted(ExplainGroupRequest(group_id=group), ExplainGroupResponse)
            is_final = answer.error_message is not None or answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
            return 0 if is_final else answer.error_code, answer

        try:
            answer = client.patiently(f"explaining group {group!r}", once)
        except UnreachableError as error:
            raise _not_ours(arguments, connection, error) from None
        if answer.error_message is not None:
            raise CliError(printable(f"group {group!r}: {answer.error_message}"), 1)
        if answer.story is None:
            raise not_found(client, group)
        story = decode_story(answer.story)
        note_transactions(client, story)
        return story


def _ask_console(arguments: argparse.Namespace) -> Story:
    """Ask a console by HTTP. It may be that of an observer, whose cluster cannot be asked."""
    from http import HTTPStatus  # late: most calls ask a broker
    from urllib.parse import urlencode

    from coordinator.cli.http_port import CONSOLE_TOKEN, ask_console, http_settings

    settings = http_settings(arguments.http, arguments.command_config, CONSOLE_TOKEN)
    answer = ask_console(settings, f"/api/group?{urlencode({'id': arguments.group})}", arguments.timeout)
    no_console = f"{arguments.http} is no console: it answers with status {answer.status}; give the HTTP port"
    try:
        if answer.status == HTTPStatus.OK:
            return msgspec.json.decode(answer.body, type=GroupPage).story
        sentence = msgspec.json.decode(answer.body, type=Problem).error
    except msgspec.DecodeError:
        sentence = f"{no_console} of a daemon or of `coordinator observe`"
    raise CliError(printable(f"group {arguments.group!r}: {sentence}"), 1)


def _not_ours(arguments: argparse.Namespace, connection: NodeConnection, error: UnreachableError) -> CliError:
    """Return what to say of a broker that does not know the request. One that answers nothing else either is down."""
    try:
        with client_of(arguments) as client:
            group = describe(client, arguments.group)
            held = _held_back(client, group)
    except UnreachableError:
        return error
    except CliError as other:
        described = str(other)
    else:
        names = [f"{each.client_id} on {each.host.lstrip('/')}" for each in group.members[:NAMES_SHOWN]]
        more = [f"{len(group.members) - NAMES_SHOWN} more"] if len(group.members) > NAMES_SHOWN else []
        members = f" ({', '.join(names + more)})" if names else ""
        described = f"the group is {group.state} and has {count(len(group.members), 'member')}{members}{held}"
    return CliError(
        printable(
            f"the broker at {connection.address} is not this project's coordinator, the only one that records why a "
            f"group rebalances, so there is nothing to explain; DescribeGroups says: {described}"
        )
    )


def _held_back(client: Client, group: DescribedGroup) -> str:
    """Return what any Kafka tells of a transaction that holds a group back, to be appended to a sentence."""
    now_ms = int(time.time() * 1000)
    state = LiveGroup(
        group=group.group_id,
        at_ms=now_ms,
        state=group.state,
        protocol_type=group.protocol_type,
        member_count=len(group.members),
    )
    story = Story(at_ms=now_ms, state=state)
    note_transactions(client, story)
    verdict = held_back(story)
    return "" if verdict is None else f". {verdict.sentence}. {verdict.advice}"


# -- the answer --------------------------------------------------------------------------------------------------


def page(story: Story, last: int) -> str:
    """Return the whole answer: the headline, the advice, what else is true, and the last rebalances."""
    headline, *others = explain(story)
    lines = [headline.sentence, f"  {headline.advice}", *(f"Also: {other.sentence}" for other in others)]
    rows = list(_rows(story, last))
    if rows:
        columns = [column for column in COLUMNS if any(column in row for row in rows)]
        lines += ["", *as_columns(columns, rows, RIGHT).split("\n")]
    state = story.state
    if state is not None and (state.rebalances or state.commits_refused or state.fencings):
        counted = (
            count(state.rebalances, "rebalance"),
            count(state.commits_refused, "refused commit"),
            count(state.fencings, "fenced or replaced member"),
        )
        since = "Since the observer started" if story.unknown else "Since the coordinator started"
        lines += ["", f"{since}: {', '.join(counted)}"]
    lines += [f"Not known: {sentence}" for sentence in story.unknown]
    return "\n".join(map(printable, lines))


def _rows(story: Story, last: int) -> Iterator[Row]:
    """Yield the last rebalances, oldest first, the current one included."""
    events = [event for event in story.events if isinstance(event, Rebalance)]
    if story.state is not None and story.state.rebalance is not None:
        events.append(story.state.rebalance)
    for event in events[-last:] if last else []:
        column, member, late_ms = _last(event)
        yield {
            "WHEN": f"{clock_time(event.at_ms, story.at_ms)}:{datetime.fromtimestamp(event.at_ms / 1000):%S}",
            "CAUSE": event.trigger.cause.value.replace("_", " "),
            "CULPRIT": _who(event.trigger.member),
            "MEMBERS": f"{event.members_before} to {event.members_after if _has_members(event) else '?'}",
            "TOOK": _took(event, story.at_ms),
            column: f"{printable(member.name)} (+{duration(late_ms)})" if late_ms >= MOST_LATE_MS else None,
            "MOVED": None if event.partitions < 0 else f"{event.partitions_moved} of {event.partitions}",
            "UNOWNED-S": f"{event.unowned_partition_ms / 1_000:.1f}" if event.unowned_partition_ms > 0 else None,
            "READ-TWICE": event.records_read_twice if event.records_read_twice >= 0 else None,
            "OUTCOME": event.outcome.value,
        }


def _last(event: Rebalance) -> tuple[str, ClientInfo, int]:
    """Return the member that came last, how much later than the others, and the column that it belongs to."""
    if event.type != CONSUMER:
        return "LAST-TO-JOIN", event.last_to_join, event.last_join_ms - max(event.previous_join_ms, 0)
    if event.last_revoke_ms >= MOST_LATE_MS:  # the others waited for what it had to give up
        return "LATE-MEMBER", event.last_to_revoke, event.last_revoke_ms
    return "LATE-MEMBER", event.last_to_reconcile, event.last_reconcile_ms - max(event.previous_reconcile_ms, 0)


def _took(event: Rebalance, now_ms: int) -> str | None:
    if event.outcome is RebalanceOutcome.RUNNING:
        return duration(now_ms - event.at_ms)
    return duration(event.took_ms) if event.join_ms >= 0 or event.outcome is RebalanceOutcome.INTERRUPTED else None


def _has_members(event: Rebalance) -> bool:
    """Return whether the members of the new generation are known."""
    return event.join_ms >= 0 or event.outcome in (RebalanceOutcome.STABLE, RebalanceOutcome.EMPTY)


def _who(member: ClientInfo) -> str | None:
    return printable(f"{member.name} ({member.host})") if member.is_known else None


def _json(story: Story) -> str:
    return msgspec.json.encode({"verdicts": explain(story), "story": story}).decode()


def printable(text: str) -> str:
    """Escape what a client may have put into its ids to control a terminal: control and formatting characters."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
