"""docs/incidents-observed.md: the twenty incidents and what their pages said, from a run of live_incidents.py.

`python -m tests.observe.incidents_page` plays them and writes the page. The test writes its outcomes to the file that
OBSERVED_INCIDENTS names; without it, it only prints them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from coordinator.core.events.model import ClientInfo
from coordinator.core.events.words import duration
from tests.observe.incident_watch import Watch, cause_of, culprit_of, newest
from tests.observe.incidents import ScriptedIncident

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "incidents-observed.md"
TESTS: Final = "tests/observe/live_incidents.py"
NOTES: Final = "OBSERVED_INCIDENTS"
INTRODUCTION: Final = """\
# Twenty incidents and what the console says

Twenty incidents are played with real clients, half of them against a daemon and half against an Apache Kafka 4.4 that
[`coordinator observe`](observe.md) follows. `GET /api/group` is asked each 100 ms while they last. The table has the
first answer that names cause and culprit, and how long after the cluster itself knew that was: after the event, or
after the timestamp of its record in the log. A wait counts from the moment when it had lasted for 5 s, after which it
is called slow. Where no verdict is about the incident, cause and culprit are those of the newest event.

The last column has what the answer says is not known, as far as it matters here. An incident is right only if that is
said, and if no answer before it accused another client. `make incidents-observed` writes this page. What to do about
each: [stuck-groups.md](stuck-groups.md).

"""
HEAD: Final = """\
| Incident | Where | Client | What the page said | Cause | Culprit | Visible after | Right | Said to be not known |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    title: str
    where: str
    client: str
    sentence: str
    cause: str
    culprit: str
    after_ms: int
    is_right: bool
    said_before: list[str]  # other headlines before the right one
    not_known: str = ""  # what the page says is not known
    hides_unknown: bool = False  # the page does not say so, although the log cannot tell
    evidence: str = ""  # if it was wrong: the story, and how the script failed

    @classmethod
    def of(cls, incident: ScriptedIncident, watch: Watch, failure: str) -> Outcome:
        """Return what the page of an incident said first that was right, or said last."""
        page = watch.told.page if watch.told is not None else watch.page
        cause, culprit, sentence = "", ClientInfo(), "nothing"
        if page is not None:
            headline, event = page.verdicts[0], newest(page)
            sentence, cause, culprit = headline.sentence, headline.code.value, headline.culprit
            if event is not None and not incident.expected.codes:
                cause, culprit = cause_of(event).value, culprit_of(event)
        is_right, unknown = watch.is_right, incident.expected.unknown
        is_said = page is not None and unknown in page.unknown
        story = "" if is_right or page is None else msgspec.json.encode(page.story).decode()
        return cls(
            title=incident.title,
            where=incident.where.value,
            client=incident.client,
            sentence=sentence,
            cause=cause,
            culprit=culprit.name if culprit.is_known else "",
            after_ms=watch.told.after_ms if watch.told is not None else -1,
            is_right=is_right,
            said_before=watch.said_before,
            not_known=unknown.partition(":")[0] if is_said else "",
            hides_unknown=bool(unknown) and not is_said,
            evidence=""
            if is_right
            else f"{incident.title} ({incident.where.value}): {failure} {watch.accused} {story}",
        )

    def row(self) -> str:
        after = duration(self.after_ms) if self.after_ms >= 0 else "never"
        culprit = self.culprit or "-"
        right = "yes" if self.is_right else "no"
        cause = f"`{self.cause}`"
        cells = (self.title, self.where, self.client, self.sentence, cause, culprit, after, right, self.not_known)
        return f"| {' | '.join(cells)} |\n"

    def line(self) -> str:
        before = f"; before: {', '.join(self.said_before)}" if self.said_before else ""
        return f"{self.row().strip()}{before}"


def encode(outcomes: Iterable[Outcome]) -> bytes:
    return msgspec.json.encode(list(outcomes))


def table(outcomes: Iterable[Outcome]) -> str:
    return HEAD + "".join(outcome.row() for outcome in outcomes)


def main() -> int:
    """Play the incidents, and write the page if the test was green."""
    with tempfile.TemporaryDirectory() as scratch:
        notes = Path(scratch) / "notes"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-s", TESTS, *sys.argv[1:]],
            cwd=ROOT,
            env={**os.environ, NOTES: str(notes)},
            check=False,
        )
        if done.returncode:
            return done.returncode
        outcomes = msgspec.json.decode(notes.read_bytes(), type=list[Outcome])
    PAGE.write_text(INTRODUCTION + table(outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
