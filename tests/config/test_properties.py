"""Java's properties syntax, case by case; the expected values are the results of java.util.Properties.load."""

from __future__ import annotations

import pytest

from coordinator.config.properties import PropertiesError, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", [("a", "1")]),
        ("a:1", [("a", "1")]),
        ("a 1", [("a", "1")]),
        ("a\t1", [("a", "1")]),
        ("  a  =  1  ", [("a", "1  ")]),
        ("a = : 1", [("a", ": 1")]),
        ("a==1", [("a", "=1")]),
        ("a", [("a", "")]),
        ("=1", [("", "1")]),
        ("# a=1\n! b=2\n  # c=3\nd=4", [("d", "4")]),
        ("# not continued \\\na=1", [("a", "1")]),
        ("\n\n \t\n", []),
        ("", []),
        ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("list = x,\\\n       y,\\\n\tz\nb=1", [("list", "x,y,z"), ("b", "1")]),
        ("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")]),
        ("a=1\\\\\\\n2", [("a", "1\\2")]),
        ("a=1\\", [("a", "1")]),
        ("a=x\\\n# no comment here", [("a", "x# no comment here")]),
        ("a\\:b\\=c\\ d = e", [("a:b=c d", "e")]),
        (r"a=\t\n\r\f\x\\", [("a", "\t\n\r\fx\\")]),
        (r"a=\u0041\u00e9", [("a", "Aé")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("a=x\x0by", [("a", "x\x0by")]),  # in Java a vertical tab does not end a line
    ],
)
def test_an_entry_is_read_as_java_reads_it(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(entry.key, entry.value) for entry in parse_properties(text)] == expected


def test_each_entry_has_the_number_of_its_first_line() -> None:
    assert [entry.line for entry in parse_properties("# one\na=1\\\n  2\n\nb=3")] == [2, 5]


@pytest.mark.parametrize("text", [r"a=\u00", r"a=\uZZZZ", "\n" + r"\u12=b"])
def test_the_error_for_a_broken_unicode_escape_names_its_line(text: str) -> None:
    with pytest.raises(PropertiesError, match=rf"line {text.count(chr(10)) + 1}: .u needs four hexadecimal digits"):
        parse_properties(text)
