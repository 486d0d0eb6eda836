"""The order that the events really have: what the commands say where changes have no position."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cases import doctor, inspect, scaffold, sources

WITHOUT_POSITION = {
    ("02", ""): ("mongodb", "ts_ms is 1767225600208"),
    ("06", "db2"): ("db2", "positions of the connector db2 are not read"),
    ("06", "no-connector"): ("other", "no connector is named; it is declared as `other`"),
    ("10", ""): ("mysql", "file is empty"),
    ("12", "mongodb-flattened"): ("mongodb", "ts_ms is missing"),
    ("12", "mysql-file-null"): ("mysql", "file is null"),
}


@pytest.mark.parametrize(("case", "folder"), WITHOUT_POSITION)
def test_offsets_order_changes_without_a_position(tmp_path: Path, case: str, folder: str) -> None:
    connector, said = WITHOUT_POSITION[case, folder]
    assert f"changes have no position ({said})" in inspect(case, folder).text
    found = doctor(case, folder)
    assert "positions-missing" in found.text
    assert said in found.text
    assert "positions-shared" not in found.text
    assert found.code == 0
    scaffold(tmp_path, case, folder)
    ((_, table),) = sources(tmp_path).items()
    text = (tmp_path / "models/bronze/shop/_shop__sources.yml").read_text("utf-8")
    assert table["config"]["meta"]["cdc"]["order_by"] == "offset"
    assert f"connector: {connector}\n" in text


def test_rows_of_an_old_snapshot_share_no_position() -> None:
    found = doctor("27")
    assert "positions-shared" not in found.text
    assert found.code == 0
    assert "the connector's position" in inspect("27").text
