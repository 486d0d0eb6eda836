"""Values that are not the value, and times in forms that are rare: cases 21, 22 and 25."""

from __future__ import annotations

from pathlib import Path

from .cases import doctor, inspect, landing, scaffold, sources

PROCESSOR = "S3LargeMessagePostProcessor"


def test_remedy_is_of_sqlserver() -> None:
    said = doctor("21")
    assert "SQL Server did not send note (1)" in said.text
    assert "REPLICA IDENTITY" not in said.text
    assert said.code == 0


def test_reference_is_an_error_by_the_files_and_by_the_configuration() -> None:
    of_files = doctor("22")
    assert f"references to an object in S3 in place of values ({PROCESSOR}): note (1)" in of_files.text
    assert of_files.code == 3
    configuration = landing("22", part=".") / "connector.json"
    said = doctor("22", "", "--connector", configuration)
    assert (
        f"shop-source: `large.type=io.debezium.storage.s3.processor.{PROCESSOR}`: large values are replaced"
        in said.text
    )


def test_zoned_time_is_proposed(tmp_path: Path) -> None:
    assert "seen" in inspect("25").text
    assert scaffold(tmp_path, "25").code == 0
    (table,) = sources(tmp_path).values()
    assert {column["name"]: column["data_type"] for column in table["columns"]} == {"id": "int", "seen": "timestamp"}
