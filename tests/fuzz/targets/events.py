"""Events of groups and stories as JSON: a value that is written as it was read, or an error of msgspec's."""

from __future__ import annotations

import msgspec

from coordinator.core.events.model import decode_event, decode_story, encode


def check(data: bytes) -> None:
    try:
        event = decode_event(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    else:
        assert decode_event(encode(event)) == event
    try:
        story = decode_story(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    assert decode_story(encode(story)) == story
