"""Rules for the names of client certificates. What each row gives was compared with Kafka's class on OpenJDK 17."""

from __future__ import annotations

import contextlib

import pytest

from coordinator.security.principal_mapping import NoMatchingRule, parse_rules

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
SME = "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US"
DOCUMENTED = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        (DOCUMENTED, "CN=serviceuser,OU=ServiceUsers,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "serviceuser"),
        (DOCUMENTED, "CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "adminuser@admin"),
        (DOCUMENTED, "OU=x,CN=A.b-c", "a.b"),
        (DOCUMENTED, "OU=x", "OU=x"),
        ("DEFAULT", DUKE, DUKE),
        ("DEFAULT", "", ""),
        # Case, and the order of rules.
        ("RULE:^CN=(.*?),.*$/$1/", DUKE, "Duke"),
        ("RULE:^CN=(.*?),.*$/$1/L", DUKE, "duke"),
        ("RULE:^CN=(.*?),.*$/$1/U", DUKE, "DUKE"),
        ("RULE:.*/ß/U", "x", "SSSS"),
        ("DEFAULT,RULE:.*/x/", DUKE, DUKE),
        ("RULE:^CN=Earl.*$/x/ , RULE:^CN=(Du).*$/$1/", DUKE, "Du"),
        # The pattern must match the whole name; then each match is replaced, which can be more or less than the name.
        ("RULE:CN=Duke/x/,DEFAULT", DUKE, DUKE),
        ("RULE:CN=(.*?)/$1/", "CN=Duke", "Duke"),
        ("RULE:.*/x/", "name", "xx"),
        ("RULE:(.*?)/[$1]/", "ab", "[]a[]b[]"),
        # References.
        ("RULE:CN=(.*),OU=(.*?),.*/$0-$2-$1/", "CN=a,OU=b,C=c", "CN=a,OU=b,C=c-b-a"),
        ("RULE:^CN=(\\w+),OU=(\\w+),.*$/$3:$12:$21:$01:$03/", DUKE, f"$3:Duke2:ServiceUsers1:Duke:{DUKE}3"),
        ("RULE:^CN=(Duke)?(Earl)?,.*$/<$1><$2>/", DUKE, "<Duke><>"),
        ("RULE:^.+$/\\$1\\/\\\\\\x/", DUKE, "$1/\\x"),
        ("RULE:^.+$//,DEFAULT", DUKE, ""),
        # Slashes, commas and blanks in rules.
        ("RULE:^CN=([^\\/]*)\\/(.*)$/$2\\/$1/", "CN=a/b", "b/a"),
        ("RULE:^CN=((\\\\, *|\\w)+)(,.*|$)/$1/,DEFAULT", "CN=Tkac\\, Adam,OU=ITZ", "Tkac\\, Adam"),
        ("RULE:CN=([^,DEFAULT,]+)(,.*|$)/$1,/L,DEFAULT", "CN=boss,OU=x", "boss,"),
        ("  RULE: (.)  / $1/ ,\tDEFAULT\r\n", " x  ", " x"),
        (",, , DEFAULT,,", DUKE, DUKE),
        ("RULE:,RULE:,/,RULE:,/,RULE:x/y/", "x", "y"),
        ("RULE:,RULE:,/,RULE:,/,RULE:x/y/", ",RULE:,", ",RULE:,"),
        # As in Java, \w and \s have ASCII alone.
        ("RULE:^(\\w+)$/$1!/,DEFAULT", "é", "é"),
        ("RULE:^(\\S+)\\s(.)$/$2/,DEFAULT", "a\u2003b", "a\u2003b"),
        ("RULE:(?i)^cn=(.*)$/$1/,DEFAULT", "CN=x", "x"),
        ("RULE:(?>CN=)([^,]*+).*/$1/", DUKE, "Duke"),
    ],
)
def test_the_first_rule_that_applies_gives_the_name(rules: str, name: str, expected: str) -> None:
    assert parse_rules(rules).name_of(name) == expected


@pytest.mark.parametrize("rules", ["", " , ,", "RULE:^CN=Earl.*$/x/", "RULE:CN=Duke/x/"])
def test_a_name_without_a_rule_has_no_principal(rules: str) -> None:
    with pytest.raises(NoMatchingRule) as caught:
        parse_rules(rules).name_of(DUKE)
    assert str(caught.value) == (
        f"no rule of ssl.principal.mapping.rules applies to {DUKE!r}; add one, or DEFAULT at the end to give such "
        "clients their whole name"
    )


def test_a_long_name_is_cut_in_the_error() -> None:
    with pytest.raises(NoMatchingRule) as caught:
        parse_rules("").name_of(2**16 * "x")
    assert len(str(caught.value)) < 500


NO_RULE = (
    "is not a rule; write DEFAULT, or RULE:pattern/replacement/ with L or U after the last slash for lower or upper"
)


@pytest.mark.parametrize(
    ("rules", "entry"),
    [
        ("default", "default"),
        ("DEFAUL", "DEFAUL"),
        ("DEFAULT/L", "DEFAULT/L"),
        ("rule:.*/x/", "rule:.*/x/"),
        ("RULE:(.*)/$1", "RULE:(.*)/$1"),
        ("RULE:(.*)/L", "RULE:(.*)/L"),
        ("RULE:(.*)/$1/LU", "RULE:(.*)/$1/LU"),
        ("RULE:(.*)/$1/L/U", "RULE:(.*)/$1/L/U"),
        ("RULE:(.*)/$1/l", "RULE:(.*)/$1/l"),
        ("RULE:CN=(.*?),OU=x/$1", "RULE:CN=(.*?)"),
        ("DEFAULT, RULE:x", "RULE:x"),
    ],
)
def test_what_is_no_rule_is_refused(rules: str, entry: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_rules(rules)
    assert str(caught.value) == f"{entry!r} {NO_RULE} case"


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (
            "(a",
            "is not a regular expression here (missing ), unterminated subpattern at position 0); correct it, and "
            "write it without what only Java knows",
        ),
        (
            "\\p{L}+",
            "is not a regular expression here (bad escape \\p at position 0); correct it, and write it without "
            "what only Java knows",
        ),
        (
            "(?u)a",
            "is not a regular expression here (ASCII and UNICODE flags are incompatible); correct it, and write it "
            "without what only Java knows",
        ),
        *(
            (
                pattern,
                "is read by Java in another way than here; write it without \\v, \\Z, and within [] without another "
                "[, &&, --, ~~ and ||",
            )
            for pattern in ("[a-z&&[^b]]", "[a[b]]", "[[a]", "[a--b]", "[a", "[]", "a\\Z", "[\\v]", "\\\\\\v")
        ),
    ],
)
def test_a_pattern_that_differs_in_java_is_refused(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_rules(f"RULE:{pattern}/x/")
    assert str(caught.value) == f"the pattern {pattern!r} {sentence}"


@pytest.mark.parametrize("pattern", ["\\[a[b]", "[\\[a]", "[^\\]]", "[a&b]", "a&&b", "[a-]", "\\\\Z", "[a][b]"])
def test_brackets_and_escapes_that_are_the_same_in_java_are_accepted(pattern: str) -> None:
    assert parse_rules(f"RULE:{pattern}/x/").rules


@pytest.mark.parametrize("replacement", ["$", "a$", "$x", "${name}"])
def test_a_dollar_without_a_number_is_refused(replacement: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_rules(f"RULE:(.*)/{replacement}/")
    assert str(caught.value) == (
        f"the replacement {replacement!r} has a $ without a number; write \\$ for the character"
    )


def test_a_reference_without_a_group_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        parse_rules("RULE:.*/$1/")
    assert str(caught.value) == "the replacement '$1' refers to a group, but its pattern has none; add (...)"


def test_hard_texts_of_rules_are_parsed_soon() -> None:
    for text in ("RULE:" * 2000, "RULE:" + "[a" * 2000 + "/x/", " ," * 5000, "RULE:" + "\\a" * 5000):
        with pytest.raises(ValueError) if "R" in text else contextlib.nullcontext():
            parse_rules(text)
