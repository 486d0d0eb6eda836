"""Names of columns and of folders that one of the tools reads as something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import cases


@pytest.mark.parametrize(
    ("folder", "name", "shown"),
    [("line-feed", "first\nsecond", r"'first\nsecond'"), ("next-line", "first\x85second", r"'first\x85second'")],
)
def test_column_whose_name_ends_a_line(tmp_path: Path, folder: str, name: str, shown: str) -> None:
    said = f"column {shown} cannot be built: its name begins with # or has a character that ends a line."
    assert said in cases.inspect("13", folder).text
    assert said in cases.scaffold(tmp_path, "13", folder).text
    assert [column["name"] for column in cases.sources(tmp_path)["items"]["columns"]] == ["id", name]
    found = cases.doctor("13", folder)
    assert "[names-taken]" in found.text
    assert shown in found.text


def test_location_is_written_as_the_folder_is_called(tmp_path: Path) -> None:
    cases.scaffold(tmp_path, "17")
    location = cases.sources(tmp_path)["items"]["external"]["location"]
    assert location == str(cases.landing("17") / "stock [old]" / "shop.public.items")
