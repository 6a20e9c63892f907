"""The check of the built site finds links that lead nowhere, and files that other hosts would have to send."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

GOOD = (
    '<h1 id="top">A</h1><a href="#top">a</a> <a href="sub/b.html#here">b</a> <a href="https://kafka.apache.org/">c</a>'
)


def check(site: Path, page: str) -> subprocess.CompletedProcess[str]:
    (site / "sub").mkdir()
    (site / "sub" / "b.html").write_text('<a href="../index.html">up</a><p id="here">')
    (site / "index.html").write_text(page)
    command = [sys.executable, str(ROOT / ".site" / "check.py"), str(site)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_site_whose_links_lead_somewhere_passes(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ('<a href="c.html">c</a>', "links to c.html, which is not in the site"),
        ('<a href="sub/b.html#there">b</a>', "the page has no such anchor"),
        ('<a href="#bottom">a</a>', "the page has no such anchor"),
        ('<img src="images/a.png">', "links to images/a.png, which is not in the site"),
        ('<a href="htp://example.org">c</a>', "which is no address"),
        ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js from another host"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css from another host"),
    ],
)
def test_a_mistake_is_named(added: str, said: str, tmp_path: Path) -> None:
    done = check(tmp_path, GOOD + added)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
