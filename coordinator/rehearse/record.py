"""The record of a rehearsal: what each phase showed. `findings.py` judges it; `--json` prints it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from coordinator.rehearse.callbacks import Callback
from coordinator.rehearse.output import RefusedSetting


class EndedCopy(msgspec.Struct, frozen=True):
    """A copy that ended by itself."""

    client: str
    protocol: str
    exit_code: int
    last_lines: str


class AbsentCopy(msgspec.Struct, frozen=True):
    """A copy that runs and does not become a member."""

    client: str
    protocol: str
    waited_s: float
    refusal: str  # the answer to its last attempt to join; "": there was none
    last_lines: str


class UnreadPartition(msgspec.Struct, frozen=True):
    """A partition with records that are not committed."""

    partition: int
    waited_s: float
    owner: str  # "": it has none
    is_kept: bool  # the owner has it since before its assignment changed last


class RefusedRequest(msgspec.Struct, frozen=True):
    """Commits or heartbeats of a client that were refused with the same error."""

    client: str
    request: str
    error: str
    count: int


class WrongCommit(msgspec.Struct, frozen=True):
    """A commit that was accepted and should not have been sent."""

    client: str
    partition: int
    offset: int
    before: int  # the committed offset before it


class PhaseRecord(msgspec.Struct, kw_only=True):
    """The record of one phase."""

    name: str
    is_played: bool = False
    took_s: float = 0.0
    protocols: dict[str, str] = {}  # by client, at the end of the phase
    ended: list[EndedCopy] = []
    absent: list[AbsentCopy] = []
    unread: list[UnreadPartition] = []
    rebalances: int | None = None  # without an end; None: the group came to rest
    refused_settings: dict[str, list[RefusedSetting]] = {}  # by client
    assignors: list[str] = []  # that members of the classic protocol offered
    refused: list[RefusedRequest] = []
    late_commits: list[WrongCommit] = []  # for partitions that the member had given up
    went_back: list[WrongCommit] = []
    read_again: list[WrongCommit] = []  # read from `offset`, where `before` was committed at the begin of the phase
    unsent: dict[int, int] = {}  # by partition: records that were committed and sent to no copy
    sent_again: dict[int, int] = {}  # by partition: records that an owner had for a second, and the next one again
    processed_twice: int | None = None  # with --output
    without_owner_s: dict[int, float] = {}  # by partition: the longest time
    standstill_s: dict[int, float] = {}  # by partition: the longest time between two commits
    callbacks: list[Callback] = []  # as the requests show them
    printed_callbacks: dict[str, list[str]] = {}  # by client, as its lines name them


class Rehearsal(msgspec.Struct, kw_only=True):
    """The record of a whole rehearsal."""

    phases: list[PhaseRecord]
    has_output: bool = False
    took_s: float = 0.0

    @property
    def played(self) -> list[PhaseRecord]:
        """The phases that were played, in their order."""
        return [each for each in self.phases if each.is_played]


class FindingKind(StrEnum):
    """A mistake of an application in a migration. Words that `coordinator torture` has mean the same here."""

    REFUSED_SETTING = "refused_setting"  # the client refuses it under the consumer protocol
    EXITED = "exited"  # a copy ended by itself
    NOT_JOINED = "not_joined"  # a copy runs and does not become a member
    CUSTOM_ASSIGNOR = "custom_assignor"  # it is not used under the consumer protocol
    STUCK = "stuck"  # records wait, and nothing is committed
    KEPT_UNREAD = "kept_unread"  # STUCK: partitions that the owner kept when its assignment changed
    LOOPING = "looping"  # the group rebalances without an end
    STALE_EPOCH = "stale_epoch"  # requests with an old epoch or generation, which were refused
    NOT_OWNER = "not_owner"  # a commit for a partition that the member had given up
    WENT_BACK = "went_back"  # a commit below what was committed
    READ_AGAIN = "read_again"  # from below what was committed
    LOST = "lost"  # committed past records that no copy was sent
    PROCESSED_TWICE = "processed_twice"  # the next owner gets what the former one had processed
    SLOW_REVOCATION = "slow_revocation"  # partitions wait for a callback
    LONGER_STANDSTILL = "longer_standstill"  # a partition stands still for longer than before the migration


class MigrationFinding(msgspec.Struct, frozen=True):
    """One finding: what was seen, in which phases, and what to do next."""

    kind: FindingKind
    sentence: str
    phases: tuple[str, ...]
    advice: str
