"""docs/incidents.md belongs to the incidents as they are now."""

from __future__ import annotations

import re

from coordinator.explain.verdict import Finding
from tests.clients.incidents_page import INTRODUCTION, PAGE, ROOT, TESTS


def test_the_page_has_a_verdict_for_each_incident() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.startswith(INTRODUCTION)
    rows = [line.split("|")[1:3] for line in page.removeprefix(INTRODUCTION).splitlines()]
    titles = re.findall(r"^def test_(\w+)", (ROOT / TESTS).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [title.strip() for title, _ in rows] == [title.replace("_", " ") for title in titles]
    assert {code.strip(" `") for _, code in rows} <= {finding.value for finding in Finding}
