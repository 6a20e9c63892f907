"""What the source has to say to mypyc, the compiler of the optional build (setup.py), without needing it at run time.

mypyc reads `mypyc_attr` by its name and calls nothing. For everybody else it does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_):
        return lambda decorated: decorated
