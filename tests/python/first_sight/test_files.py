"""What files are, by their content; what their names say; and files that nobody looks at."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from . import cases

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("case", "folder", "said"),
    [
        ("08", "aiven", "items   envelope  json          2      5"),
        ("08", "aiven-gzip", "items   envelope  json/gzip        2      5"),
        ("08", "firehose", "items   envelope  json          2      5"),
        ("16", "", "items   envelope  avro/snappy        1      3"),
        ("19", "", "items   envelope  json/gzip        1      3"),
        ("23", "glued", "items   envelope  json          1      3"),
        ("23", "array", "items   envelope  json          1      3"),
    ],
)
def test_content_tells_what_a_file_is(case: str, folder: str, said: str) -> None:
    found = cases.inspect(case, folder)
    assert said in found.text
    assert " ! " not in found.text
    assert "lines-broken" not in cases.doctor(case, folder).text


@pytest.mark.parametrize("folder", ["aiven", "aiven-gzip"])
def test_names_have_topic_partition_and_offset(folder: str, tmp_path: Path) -> None:
    text = cases.inspect("08", folder).text
    assert "items (shop.public.items)" in text
    assert "partition 0  0 to 4, 0 without a line, 0 twice" in text
    assert cases.scaffold(tmp_path, "08", folder).code == 0
    assert "layout: aiven" in (tmp_path / "models/bronze/shop/_shop__sources.yml").read_text("utf-8")


def test_numbers_in_names_that_are_no_offsets(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"id": number}) + "\n" for number in range(50))
    for number in (100, 101):
        (tmp_path / f"batch-1-{number}.json").write_text(rows, encoding="utf-8")
    text = cases.run("inspect", tmp_path).text
    assert "no offsets in the names" in text
    assert "partition 1" not in text


def test_decimals_that_are_json_numbers(tmp_path: Path) -> None:
    assert "decimal.format=NUMERIC" in cases.inspect("09").text
    cases.scaffold(tmp_path, "09")
    assert cases.sources(tmp_path)["items"]["config"]["meta"]["cdc"]["decimal_format"] == "numeric"


def test_decimals_that_are_json_numbers_and_base64_are_asked_about(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    shutil.copytree(cases.landing("09"), landing)
    (path,) = landing.rglob("*.json")
    text = path.read_text("utf-8")
    assert "12.34" in text
    path.write_text(text.replace("12.34", '"BNI="', 1), encoding="utf-8")
    assert "which decimal_format do its files have" in cases.run("inspect", landing).text


def test_change_files_that_spark_does_not_list_are_named(tmp_path: Path) -> None:
    for folder in ("items", "_orders", "_delta_log"):
        shutil.copytree(cases.landing("19"), tmp_path / folder)
    text = cases.run("inspect", tmp_path).text
    assert "! 1 change file that Spark does not list: _orders/topics/" in text
    found = cases.run("doctor", tmp_path)
    assert ("files-hidden" in found.text, found.code) == (True, 3)
    shutil.rmtree(tmp_path / "items")
    assert "Spark does not list" in cases.run("doctor", tmp_path).text


@pytest.mark.parametrize(
    ("inspected", "location"),
    [
        ("topics/items/partition=0", "topics/items"),
        ("topics/items/2026/01/01", "topics/items"),
        ("topics/items/2026-01-01", "topics/items"),
        ("topics/items", "topics/items"),
        ("topics", "topics/items"),
    ],
)
def test_location_is_the_topmost_folder_of_the_files(tmp_path: Path, inspected: str, location: str) -> None:
    (file,) = cases.landing("19").rglob("*.json")
    below = inspected if inspected.count("/") > 1 else "topics/items"
    (tmp_path / "landing" / below).mkdir(parents=True)
    shutil.copy(file, tmp_path / "landing" / below)
    project = tmp_path / "project"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: p\n", encoding="utf-8")
    arguments = ("scaffold", tmp_path / "landing" / inspected, "--source", "shop", "--project-dir", project)
    assert cases.run(*arguments).code == 0
    external = cases.sources(project)["items"]["external"]
    assert external["location"] == str(tmp_path / "landing" / location)
    assert cases.run(*arguments).text.rstrip().endswith("0 files written.")
