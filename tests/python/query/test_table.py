"""Tables for people."""

from __future__ import annotations

import pytest

from alluvium.query.table import Column, Layout, lay_out, shown


def plain(layout: Layout) -> list[str]:
    return ["".join(text for text, _ in line) for line in layout.lines]


@pytest.mark.parametrize(
    ("text", "as_shown"),
    [
        ("a b", "a b"),
        ("", "''"),
        ("NULL", "'NULL'"),
        ("null", "null"),
        (" a", "' a'"),
        ("a\u00a0", "'a\\u00a0'"),
        ("'", "'\\''"),
        ("it's", "it's"),
        ("C:\\new", "C:\\new"),
        ("C:\\new\n", "'C:\\\\new\\n'"),
        ("\x1b[31m", "'\\u001b[31m'"),
        ("\U000e0001", "'\\U000e0001'"),
    ],
)
def test_no_text_looks_like_another_value(text: str, as_shown: str) -> None:
    assert shown(text) == as_shown


def test_numbers_stand_at_the_right_and_wide_characters_count_twice() -> None:
    columns = [Column("n", is_number=True), Column("name"), Column("x")]
    assert plain(lay_out(columns, [["10", "日本", "a"], ["5", None, "b"]])) == [
        " n  name  x",
        "--  ----  -",
        "10  日本  a",
        " 5  NULL  b",
    ]


def test_null_has_a_style_of_its_own() -> None:
    (_, _, line) = lay_out([Column("a"), Column("b")], [[None, "x"]]).lines
    assert [style for _, style in line] == ["dim italic", "", ""]


def test_nothing_is_shortened_where_nobody_looks() -> None:
    assert plain(lay_out([Column("a")], [["x" * 5000]]))[2] == "x" * 5000


def test_texts_are_shortened_to_fit_and_counted_and_numbers_are_not() -> None:
    columns = [Column("n", is_number=True, may_be_cut=False), Column("a"), Column("b")]
    layout = lay_out(columns, [["1" * 20, "x" * 100, "y" * 100], ["2", "x", None]], width=60)
    lines = plain(layout)
    assert max(map(len, lines)) == 60
    assert lines[2] == f"{'1' * 20}  {'x' * 17}…  {'y' * 17}…"
    assert layout.cut == 2


def test_row_that_does_not_fit_is_a_block() -> None:
    columns = [Column(f"column_{number}") for number in range(6)]
    layout = lay_out(columns, [["x" * 100, *"abcd", None]], width=60)
    assert plain(layout) == [
        "row 1",
        f"  column_0  {'x' * 47}…",
        "  column_1  a",
        "  column_2  b",
        "  column_3  c",
        "  column_4  d",
        "  column_5  NULL",
    ]
    assert layout.cut == 1


def test_no_rows() -> None:
    assert plain(lay_out([Column("a"), Column("bc")], [])) == ["a  bc", "-  --"]
