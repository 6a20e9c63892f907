"""The regular expressions that members subscribe with, in the syntax of RE2.

RE2 takes time in proportion to the text, whatever the expression, and refuses what it could not match so: look-around,
back-references, possessive quantifiers and atomic groups. Kafka uses RE2/J, the same in Java. A name matches if all of
it does. A dot does not match a newline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import re2

MOST_CHARACTERS: Final = 1_000
# The compiled expression and the states of its automaton. The default of 8 MiB lets one expression compile for 0.2 s.
MOST_BYTES: Final = 1 << 20
# RE2 at its slowest takes 3 ns for each instruction of the program and each byte of a name, so this is 2 ms.
_MOST_WORK_PER_STEP: Final = 700_000
_LONGEST_NAME: Final = 249
_MOST_NAMES_PER_STEP: Final = 500


class InvalidRegularExpressionError(ValueError):
    """A regular expression is refused. The text says why."""


class CompiledRegex:
    """A compiled regular expression. Make it with `compile_regex`."""

    __slots__ = ("_matcher", "names_per_step", "text")

    def __init__(self, text: str, matcher: Any) -> None:
        self.text = text
        self._matcher = matcher
        # names that `matching` may be given without keeping the event loop for more than about 2 ms
        work = _LONGEST_NAME * int(matcher.programsize)
        self.names_per_step = max(1, min(_MOST_NAMES_PER_STEP, _MOST_WORK_PER_STEP // work))

    def matching(self, names: Iterable[str]) -> list[str]:
        """Return the names that match as a whole, sorted."""
        matches = self._matcher.fullmatch
        return sorted([name for name in names if matches(name.encode("utf-8", "surrogatepass")) is not None])

    def __repr__(self) -> str:
        return f"<CompiledRegex {self.text!r}>"


def compile_regex(text: str) -> CompiledRegex:
    """Compile a regular expression. Raises InvalidRegularExpressionError."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex has {len(text):,} characters, so shorten it to {MOST_CHARACTERS:,}."
        )
    try:
        return CompiledRegex(text, re2.compile(text.encode(), _options()))
    except UnicodeEncodeError:
        raise _refused(text, "it is not valid Unicode") from None
    except re2.error as error:
        raise _refused(text, _reason(error)) from None
    finally:
        re2.purge()  # its cache would keep the memory of 128 expressions


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_BYTES
    options.never_capture = True  # groups only group: one pass finds out whether a name matches
    return options


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _refused(text: str, reason: str) -> InvalidRegularExpressionError:
    return InvalidRegularExpressionError(
        f"SubscribedTopicRegex `{text}` is not a valid regular expression: {reason}. Write it in the syntax of RE2."
    )
