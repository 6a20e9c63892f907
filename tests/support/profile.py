"""The tests that count their cases themselves are as thorough as the chosen hypothesis profile."""

from __future__ import annotations

import os
from typing import Final

HUNT: Final = os.environ.get("HYPOTHESIS_PROFILE") == "hunt"
DEEP: Final = HUNT or os.environ.get("HYPOTHESIS_PROFILE") == "deep"
