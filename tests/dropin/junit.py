"""Verdicts from the XML files that pytest, Surefire and many runners of JavaScript write."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.dropin.model import FAILED, PASSED, SKIPPED, Verdicts


def verdicts_of(*files: Path) -> Verdicts:
    """Return the verdict of every test case in some files; a file that was not written has none."""
    found: Verdicts = {}
    for file in files:
        if not file.exists():
            continue
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            kinds = {child.tag for child in case}
            verdict = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
            # A test with an error at its end has two entries; the worse one counts.
            found[name] = FAILED if FAILED in (verdict, found.get(name)) else verdict
    return found
