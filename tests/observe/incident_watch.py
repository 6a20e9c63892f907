"""A page of the console that is asked again and again, until it names the cause and the culprit of an incident.

`Watch` asks GET /api/group each 100 ms, as the page's own stream does, and keeps the first right answer, with the time
since the cluster itself knew: since an incident of one client happened first, a rebalance began or its culprit went (or
it ended, for a verdict about what is after it), a wait was 5 s long, or a silence was as long as its verdict asks for.
Of a classic group of another Kafka only the record that ended a rebalance counts; while one runs, there is none, and
the script itself asks Kafka when it began. An answer before it that accuses another client makes the incident wrong.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import msgspec

from coordinator.console.model import GroupPage
from coordinator.core.events.model import GONE, AnyEvent, Cause, ClientInfo, Incident, IncidentKind, Rebalance
from coordinator.explain.past import SETTLED_MS
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import key_of
from coordinator.explain.waiting import HEARTBEAT_MS, SLOW_MS
from tests.support.eventually import eventually

STEP_S: Final = 0.1
TOLD_S: Final = 60.0
ANSWER_S: Final = 10.0
WAITS: Final = frozenset({Finding.SLOW_JOINER, Finding.SLOW_REBALANCE, Finding.SLOW_REVOCATION})
ABOUT_THE_END: Final = frozenset({Finding.MEMBER_LOST, Finding.ROLLING_DEPLOY})
ACCUSES_NO_CLIENT: Final = frozenset(
    {Finding.HEALTHY, Finding.EMPTY, Finding.INITIAL_DELAY, Finding.REBALANCING, Finding.NO_SUCH_GROUP}
)
_PAGES: Final = msgspec.json.Decoder(GroupPage)


@dataclass(frozen=True, slots=True)
class Expected:
    """A right answer. Without `codes`, the newest event alone has to name cause and culprit."""

    culprits: tuple[str, ...]  # client ids or instance ids, each of which is right; empty: it names none
    codes: tuple[Finding, ...] = ()  # of the headline
    causes: tuple[Cause | IncidentKind, ...] = ()  # of the newest event
    says: str = ""  # a part of the headline
    unknown: str = ""  # the sentence by which the page says what the log does not tell

    def is_culprit(self, client: ClientInfo) -> bool:
        names = {client.instance_id, client.client_id} - {""}
        return bool(names & set(self.culprits)) if self.culprits else not names

    def is_in(self, page: GroupPage) -> bool:
        """Return whether a page is right."""
        if self.unknown and self.unknown not in page.unknown:
            return False
        headline = page.verdicts[0]
        if self.codes and (headline.code not in self.codes or not self.is_culprit(headline.culprit)):
            return False
        if self.says not in headline.sentence:
            return False
        event = newest(page)
        return not self.causes or (
            event is not None and cause_of(event) in self.causes and self.is_culprit(culprit_of(event))
        )


@dataclass(frozen=True, slots=True)
class Told:
    """The first right answer."""

    page: GroupPage
    after_ms: int  # since the cluster itself knew


def newest(page: GroupPage) -> AnyEvent | None:
    """Return the newest event, which may be the rebalance that runs."""
    state = page.story.state
    if state is not None and state.rebalance is not None:
        return state.rebalance
    return page.story.events[-1] if page.story.events else None


def cause_of(event: AnyEvent) -> Cause | IncidentKind:
    return event.what if isinstance(event, Incident) else event.trigger.cause


def culprit_of(event: AnyEvent) -> ClientInfo:
    return event.member if isinstance(event, Incident) else event.trigger.member


class Watch:
    """Asks for one group until it is closed."""

    def __init__(self, port: int, group: str, expected: Expected) -> None:
        self.page: GroupPage | None = None  # the last answer
        self.told: Told | None = None
        self.began_ms = -1  # when the script saw the rebalance begin, if the log cannot tell it
        self.said_before: list[str] = []  # other headlines before the right one, each once
        self.accused: list[str] = []  # those of them that name another client than the culprit
        self._port = port
        self._path = f"/api/group?id={quote(group)}"
        self._expected = expected
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {group}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def is_right(self) -> bool:
        return self.told is not None and not self.accused

    def until_told(self, within_s: float = TOLD_S) -> None:
        """Wait until the page was right; an incident that is not told in time is over nevertheless."""
        deadline = time.monotonic() + within_s
        while self.told is None and time.monotonic() < deadline:
            time.sleep(STEP_S)

    def until(self, condition: Callable[[GroupPage], bool], what: str, within_s: float = 60.0) -> None:
        """Wait until the page shows something."""
        eventually(lambda: self.page is not None and condition(self.page), what, within_s=within_s)

    def until_settled(self, members: int, for_ms: int = 0) -> None:
        """Wait until the page shows a stable group of so many members, each with partitions."""

        def is_settled(page: GroupPage) -> bool:
            state = page.story.state
            return (
                state is not None
                and state.state == "Stable"
                and state.member_count == members
                and all(each.partitions > 0 for each in state.members)
                and page.at_ms - state.since_ms >= for_ms
            )

        self.until(is_settled, f"{members} members have partitions")

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_S)
        while not self._is_over.wait(STEP_S):
            try:
                connection.request("GET", self._path)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()  # the next request opens it again
                continue
            if answer.status == 200:
                self._look_at(_PAGES.decode(body), int(time.time() * 1000))
        connection.close()

    def _look_at(self, page: GroupPage, now_ms: int) -> None:
        self.page = page
        if self.told is not None:
            return
        if self._expected.is_in(page):
            self.told = Told(page, max(now_ms - self._known_ms(page), 0))
            return
        headline = page.verdicts[0]
        if headline.code not in ACCUSES_NO_CLIENT:
            said = f"{headline.code.value} of {headline.culprit.name}"
            if said not in self.said_before:
                self.said_before.append(said)
            if headline.culprit.is_known and not self._expected.is_culprit(headline.culprit):
                self.accused.append(headline.sentence)

    def _known_ms(self, page: GroupPage) -> int:
        """Return the moment at which the cluster knew what the page says."""
        known = []
        if self._expected.codes:
            known.append(self._known_of_verdict(page, page.verdicts[0]))
        event = newest(page)
        if self._expected.causes and event is not None:
            known.append(_known_of_event(page, event, culprit_of(event), is_over=False))
        return max(known)

    def _known_of_verdict(self, page: GroupPage, verdict: GroupVerdict) -> int:
        state = page.story.state
        running = state.rebalance if state is not None else None
        if state is None:
            return page.at_ms
        if verdict.code in WAITS and running is not None:
            seen_ms = self.began_ms if self.began_ms >= 0 else running.at_ms
            return min(seen_ms, running.at_ms) + SLOW_MS
        if verdict.code is Finding.SLOW_LEADER and running is not None:
            return running.at_ms + running.join_ms + SLOW_MS
        if verdict.code is Finding.IDLE_MEMBERS:
            return state.since_ms + SETTLED_MS
        if verdict.code is Finding.SILENT_MEMBER:
            silent = next(each for each in state.members if each.member == verdict.culprit)
            timeout_ms = silent.session_timeout_ms
            bound_ms = max(timeout_ms // 2, timeout_ms // 3 + HEARTBEAT_MS)
            return page.at_ms - silent.silent_ms + bound_ms
        events = [*page.story.events, *([running] if running is not None else [])]
        is_over = verdict.code in ABOUT_THE_END
        known = [_known_of_event(page, events[each], verdict.culprit, is_over=is_over) for each in verdict.evidence]
        return max(known)


def _known_of_event(page: GroupPage, event: AnyEvent, culprit: ClientInfo, *, is_over: bool) -> int:
    state = page.story.state
    if isinstance(event, Incident) or (state is not None and event is state.rebalance):
        return event.at_ms
    has_only_its_end = bool(page.unknown) and page.type == "classic"
    if is_over or has_only_its_end:
        return event.at_ms + event.took_ms
    return event.at_ms + _went_after_ms(event, culprit)


def _went_after_ms(event: Rebalance, culprit: ClientInfo) -> int:
    departures = [each for each in event.changes if each.kind in GONE and key_of(each.member) == key_of(culprit)]
    return max((each.after_ms for each in departures), default=0)
