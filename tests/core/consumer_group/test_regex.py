"""Regular expressions of subscriptions: the syntax of RE2, whole names, and bounds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from coordinator.core.consumer_group.regex import (
    MOST_CHARACTERS,
    CompiledRegex,
    InvalidRegularExpressionError,
    compile_regex,
)

NAMES = ["orders", "orders.eu", "Orders", "payments", "__consumer_offsets", "a", "aa", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders", ["orders"]),
        ("orders.*", ["orders", "orders.eu"]),
        ("(?i)orders", ["Orders", "orders"]),
        (r"orders\.eu|payments", ["orders.eu", "payments"]),
        ("^a$", ["a"]),
        ("a", ["a"]),
        ("a|aa", ["a", "aa"]),  # the longer alternative counts, too
        (r"\Aa+\z", ["a", "aa"]),
        (r"\p{Lu}\p{Ll}+", ["Orders"]),
        (r"\pL", ["a", "b"]),
        ("[[:alpha:]]{1,2}", ["a", "aa", "b"]),
        (r"__\w+", ["__consumer_offsets"]),
        (r"\Qorders.\E..", ["orders.eu"]),
        ("(?P<first>a)(?:a)", ["aa"]),
        ("nothing", []),
        ("", []),
    ],
)
def test_a_name_matches_as_a_whole(text: str, expected: list[str]) -> None:
    assert compile_regex(text).matching(NAMES) == expected


def test_all_names_match_sorted() -> None:
    assert compile_regex(".*").matching(reversed(NAMES)) == sorted(NAMES)


@pytest.mark.parametrize(
    ("text", "name", "is_match"),
    [
        (".*", "a\nb", False),  # a dot matches no newline
        ("a", "a\n", False),  # and $ is the end of the text, not the place before a last newline
        ("a$", "a\n", False),
        ("(?s).*", "a\nb", True),
        (r"a\nb", "a\nb", True),
        ("(?m)^a$\n^b$", "a\nb", True),
        (".", "ÿ", True),  # one character, two bytes
        (".", "\U0001f600", True),
        ("..", "\U0001f600", False),
        (r"\w", "ÿ", False),  # words are ASCII
        ("(?i)Ÿ", "ÿ", True),
        (".*", "", True),
        ("a\0b", "a\0b", True),
        (".", "\ud800", True),  # half of a pair, as in Java
    ],
)
def test_odd_names_are_matched_as_re2_does(text: str, name: str, is_match: bool) -> None:
    assert compile_regex(text).matching([name]) == ([name] if is_match else [])


@pytest.mark.parametrize(
    "text",
    [
        "(a",
        "a)",
        "[a",
        "*a",
        "(?=x)",
        "(?!x)",
        "(?<=x)a",
        "(?<!x)a",
        r"(a)\1",
        r"(?P<n>a)(?P=n)",
        "(?(1)a|b)",
        "a*+",
        "a++",
        "a?+",
        "a{2}+",
        "(?>a)",
        r"a\Z",
        r"\p{Nothing}",
        "a{1001}",
        "(a{1000}){2}",
        "\ud800",
    ],
)
def test_an_expression_that_is_not_of_re2_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as caught:
        compile_regex(text)
    sentence = str(caught.value)
    assert sentence.startswith(f"SubscribedTopicRegex `{text}` is not a valid regular expression: ")
    assert sentence.endswith(". Write it in the syntax of RE2.")
    assert "b'" not in sentence


def test_an_expression_has_at_most_a_thousand_characters() -> None:
    compile_regex("ÿ" * MOST_CHARACTERS)
    with pytest.raises(InvalidRegularExpressionError, match="has 1,001 characters, so shorten it to 1,000"):
        compile_regex("a" * (MOST_CHARACTERS + 1))


@pytest.mark.parametrize("text", [r"(\pL{1,100}){1,9}", r"(?:\pL.*){300}"])
def test_an_expression_whose_program_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(InvalidRegularExpressionError, match="pattern too large"):
        compile_regex(text)


def test_fewer_names_a_step_are_advised_for_larger_programs() -> None:
    sizes = [compile_regex(text).names_per_step for text in ("a", "orders.*", r"\pL+", r"(.*a.{200}|.*b.{200})")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 100
    assert sizes[-1] == 1


def test_nested_repetitions_end() -> None:
    evil = compile_regex("(a|aa)+" * 100 + "b")
    assert evil.matching(["a" * 249]) == []


def test_a_compiled_expression_says_its_text() -> None:
    compiled = compile_regex("a.*")
    assert isinstance(compiled, CompiledRegex)
    assert repr(compiled) == "<CompiledRegex 'a.*'>"


def test_nothing_is_written_to_stderr() -> None:
    code = """
from coordinator.core.consumer_group.regex import InvalidRegularExpressionError, compile_regex
for text in ("(a", "(?=x)", "a{1001}", "(" * 1000, r"(\\pL{1,100}){1,9}"):
    try:
        compile_regex(text)
    except InvalidRegularExpressionError:
        print("refused")
print(compile_regex("(?:(?:.*a|.*b|.*.){30}){30}").matching(["ab" * 100]))  # more states than its memory holds
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "refused\n" * 5 + "[]\n"
    assert ran.stderr == ""
