"""A short run of strangers' frames, and servers with defects that it must find; `make fuzz-logins` runs longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import login_frames, login_sockets
from tests.fuzz.login_world import World


def test_no_frame_of_a_stranger_gets_past_the_login_or_stays() -> None:
    with World() as world:
        login_frames.run(world, seed=1, frames=3000)
    assert world.logins.succeeded and world.served, "no stranger has logged in"
    assert world.logins.failed and world.outcomes["bad frame"] and world.outcomes["it left"]


def test_a_server_that_takes_any_password_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.security.mechanisms.matches", lambda *_: True)
    with World() as world, pytest.raises(AssertionError, match="was let in"):
        login_frames.run(world, seed=1, frames=3000)


def test_a_server_that_serves_before_the_login_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with World() as world:
        monkeypatch.setattr(world.logins, "routes", lambda _: world.edge.runtime.routes)
        with pytest.raises(AssertionError, match="reached its handler"):
            login_frames.run(world, seed=1, frames=3000)


@pytest.mark.integration
def test_frames_to_a_daemon_harm_no_member_and_leave_nothing_behind(tmp_path: Path) -> None:
    figures = login_sockets.run(tmp_path, seed=1, frames=400)
    assert set(figures.frames) == set(login_sockets.WAYS) and figures.heartbeats
