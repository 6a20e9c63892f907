"""The tests that count their cases themselves are as thorough as the chosen hypothesis profile."""

from __future__ import annotations

import os
from typing import Final

DEEP: Final = os.environ.get("HYPOTHESIS_PROFILE") in ("deep", "hunt")
