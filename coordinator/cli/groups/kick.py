"""`coordinator groups kick`: removes a member from its group, as LeaveGroup by an administrator (KIP-345, KIP-800)."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import (
    DescribedGroup,
    DescribedMember,
    GroupNotFoundError,
    describe,
    describe_if_there,
)
from coordinator.cli.group_listing import every_group
from coordinator.cli.groups.member_ids import find
from coordinator.cli.groups.selection import not_found
from coordinator.cli.screen import complain, tell
from coordinator.cli.table import Row, render
from protocol.error_codes import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

DESCRIPTION: Final = """\
Remove a member from its group: its partitions move to the other members at once.
The member joins again if its client still runs, so stop a faulty client first."""

EPILOG: Final = """\
examples:
  coordinator groups kick orders-service consumer-1-5f1c9a0e
  coordinator groups kick consumer-1-5f1c9a0e --reason 'stuck since 14:05'   looks for it in every group
  coordinator groups kick orders-service web-7                               a static member, by its instance id"""

COLUMNS: Final = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID")
REASON: Final = "member was removed by an admin"  # KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON
_GONE: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("positional_group", nargs="?", metavar="GROUP", help="default: the group that has the member")
    parser.add_argument(
        "member", metavar="MEMBER", help="a member id, the beginning of one, or the instance id of a static member"
    )
    parser.add_argument("-g", "--group", metavar="GROUP", help="as GROUP")
    parser.add_argument("--reason", metavar="TEXT", help="is logged by the coordinator (Kafka from 3.2 on, KIP-800)")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    named: str | None = arguments.group or arguments.positional_group
    problems: list[str] = []
    with client_of(arguments) as client:
        groups = [_described(client, named)] if named is not None else _every_group(client, problems)
        group, member = _only(groups, arguments.member, named, problems)
        _remove(client, group, member, f"{REASON}: {arguments.reason}" if arguments.reason else REASON)
    row: Row = {
        "GROUP": group.group_id,
        "CONSUMER-ID": member.member_id,
        "GROUP-INSTANCE-ID": member.instance_id,
        "HOST": member.host,
        "CLIENT-ID": member.client_id,
    }
    print(render(arguments.output, COLUMNS, [row]))
    tell("the member was removed; it joins again if its client still runs")
    return complain(problems)


def _described(client: Client, group_id: str) -> DescribedGroup:
    try:
        return describe(client, group_id)
    except GroupNotFoundError:
        raise not_found(client, group_id) from None


def _every_group(client: Client, problems: list[str]) -> list[DescribedGroup]:
    found = (describe_if_there(client, group.group_id) for group in every_group(client, problems))
    return [group for group in found if group is not None]


def _only(
    groups: list[DescribedGroup], word: str, named: str | None, problems: list[str]
) -> tuple[DescribedGroup, DescribedMember]:
    """Return the one member that the word names, with its group."""
    found = [(group, member) for group in groups for member in find(word, group.members)]
    where = "no group" if named is None else f"group {named!r}"
    if not found:
        hint = f"`coordinator groups describe {named or '--all-groups'} --members` lists them"
        verb = "has a" if named is None else "has no"
        raise CliError("; ".join([f"{where} {verb} member {word!r}", hint, *problems]), 1)
    if len(found) > 1:
        names = ", ".join(f"{member.member_id} of {group.group_id}" for group, member in found)
        raise CliError(f"{word!r} fits {len(found)} members: {names}; give more of the id, or --group", 1)
    return found[0]


def _remove(client: Client, group: DescribedGroup, member: DescribedMember, reason: str) -> None:
    request = LeaveGroupRequest(
        group_id=group.group_id,
        member_id=member.member_id,  # before version 3, which has a list instead
        members=[MemberIdentity(member_id=member.member_id, reason=reason)],
    )

    def ask() -> tuple[int, int]:
        _, connection = client.coordinator(group.group_id)
        answer = connection.call(request, LeaveGroupResponse)
        code = answer.error_code or next((each.error_code for each in answer.members), 0)
        return 0 if code in _GONE else code, code

    code = client.patiently(f"removing member {member.member_id!r}", ask)
    if code:
        raise CliError(
            f"member {member.member_id!r} was not removed: {explain(code)} Probably it has left, or joined again under "
            "another id",
            1,
        )
