"""Changes of a whole frame: its key, version, length and bytes; sent again, or cut."""

from __future__ import annotations

import struct
from random import Random

from tests.fuzz.edits import EDGES, EDGES_64, edited


def changed(frame: bytes, chance: Random) -> tuple[bytes, bool]:
    """Return other bytes, and False if the daemon may take them, or what follows, for an API that is not served."""
    kind = chance.randrange(9)
    body = frame[4:]
    if kind == 0:
        return struct.pack(">i", len(body)) + struct.pack(">h", chance.randrange(-2, 100)) + body[2:], False
    if kind == 1:
        return struct.pack(">i", len(body)) + body[:2] + struct.pack(">h", chance.randrange(-2, 20)) + body[4:], False
    if kind == 2:
        return chance.choice((*EDGES, *EDGES_64)).to_bytes(8, "big")[-4:] + body, False
    if kind == 3:
        return frame * chance.choice((2, 3, 30)), True
    if kind == 4:
        return frame[: chance.randrange(1, len(frame))], False
    if kind == 5:
        return edited(frame, chance), False
    if kind == 6:
        return frame, True  # a changed field alone
    body = body[:8] + edited(body[8:], chance)
    return struct.pack(">i", len(body)) + body, True
