"""Where a text is cut into statements."""

from __future__ import annotations

import pytest

from alluvium.query import QueryError
from alluvium.query.engine import Kind, kind_of_command
from alluvium.query.prompt import is_complete
from alluvium.query.script import statements_of
from alluvium.query.statements import split, words

WHOLE = {
    "string": "select 'a;b'",
    "escaped quote": r"select 'it\'s; b'",
    "backslash at the end of a string": r"select 'C:\\'",
    "doubled quote": "select 'it''s; b'",
    "double quotes": 'select "a;\\"b;"',
    "raw string": r"select r'C:\'",
    "raw string in double quotes": r'select R"C:\"',
    "string behind a word that ends with r": r"select bar'a\';b'",
    "quoted name": "select `a;``b;`",
    "comment": "select 1 -- a; b\n+ 1",
    "comment that a backslash continues": "select 1 -- a\\\n; b\n+ 1",
    "block comment": "select /* a; */ 1",
    "nested comment": "select /* a; /* b; */ c; */ 1",
    "quote in a comment": "select 1 -- it's\n",
    "comment in a string": "select '/* --', 1",
    "hint": "select /*+ broadcast(a) */ 1",
    "division": "select 1/2*3",
}


@pytest.mark.parametrize("statement", WHOLE.values(), ids=WHOLE)
def test_statement_stays_whole(statement: str) -> None:
    cut = split(f"{statement};\nselect 2")
    assert cut.all == (statement.strip(), "select 2")
    assert (cut.rest, cut.is_open) == ("select 2", False)


@pytest.mark.parametrize("text", ["", " \n", ";", ";;\n;", "-- nothing", "/* no; thing */;", "-- a\n;/* b */"])
def test_blanks_and_comments_are_no_statement(text: str) -> None:
    assert split(text).all == ()


@pytest.mark.parametrize(
    "text",
    ["select 'a;", 'select "a;', "select `a;", "select /* a;", "select /* /* a */;", r"select r'a;", r"select '\';"],
)
def test_text_that_ends_inside_is_open(text: str) -> None:
    cut = split(text)
    assert cut.is_open
    assert cut.all == (text,)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", True),
        ("select 1", False),
        ("select 1;", True),
        ("select 1; -- done", True),
        ("select 1; select", False),
        ("select 'a;", False),
        ("select 1; /* a", False),
        ("-- a", False),
        ("\\d", True),
    ],
)
def test_enter_ends_the_input_after_a_semicolon(text: str, ends: bool) -> None:
    assert is_complete(text) is ends


def test_statements_of_several_texts() -> None:
    assert statements_of(["select 1; select 2", "select 3;"]) == ["select 1", "select 2", "select 3"]
    with pytest.raises(QueryError, match="There is no statement to run"):
        statements_of(["-- nothing"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("-- show\n/* show /* x */ */ Select 'with' -- a", ["select"]),
        ("(table `insert`)", ["(", "table", ")"]),
        ("select r'a' from b.c", ["select", "from", "b", ".", "c"]),
        ("select 'open", ["select"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("-- a\nshow tables", Kind.QUERY),
        ("REFRESH /* a */ TABLE x", Kind.SETTING),
        ("refresh x", Kind.CHANGE),
        ("refresh function table", Kind.CHANGE),
        ("set a = b", Kind.SETTING),
        ("((select 1))", None),
        ("with a as (select 1) insert into x select 1", None),
        ("/* show */ drop table x", Kind.CHANGE),
        ("`show` tables", Kind.CHANGE),
        ("'show'", Kind.CHANGE),
        ("showx tables", Kind.CHANGE),
        ("${a} tables", Kind.CHANGE),
        ("", Kind.CHANGE),
        ("call show_commits('silver.x')", Kind.QUERY),
        ("CALL System.Show_commits(table => 'silver.x')", Kind.QUERY),
        ("call show_invalid_parquet(path => '/x', needDelete => true)", Kind.CHANGE),
        ("call system.show_invalid_parquet(path => '/x')", Kind.CHANGE),
        ("call run_clean('silver.x')", Kind.CHANGE),
        ("call `show_commits`('silver.x')", Kind.CHANGE),
        ("call", Kind.CHANGE),
    ],
)
def test_kind_by_the_first_word(statement: str, kind: Kind | None) -> None:
    assert kind_of_command(statement) is kind
