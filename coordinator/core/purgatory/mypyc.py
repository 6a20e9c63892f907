"""Decorators for mypyc, the compiler of the optional build (setup.py), without a dependency at run time.

mypyc recognises `mypyc_attr` by its name and does not call it. In the interpreter it has no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_):
        return lambda decorated: decorated
