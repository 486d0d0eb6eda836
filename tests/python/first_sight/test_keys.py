"""What the commands say of keys that the files do not show."""

from __future__ import annotations

from pathlib import Path

from .cases import doctor, inspect, scaffold, sources


def test_of_two_unique_columns_none_is_written(tmp_path: Path) -> None:
    asked = "is the key item_id, or is it order_number? Each is unique in these files."
    assert asked in inspect("04").text
    assert asked in scaffold(tmp_path, "04").text
    assert "key" not in sources(tmp_path)["orders"].get("config", {})
    assert "key-unknown" in doctor("04").text


def test_a_delete_without_an_image_does_not_hide_the_key(tmp_path: Path) -> None:
    said = "1 delete has no image, so nothing says which row it deletes: REPLICA IDENTITY NOTHING"
    assert "key          id: unique in 4 images of the data" in inspect("07").text
    assert said in inspect("07").text
    assert said in scaffold(tmp_path, "07").text
    assert sources(tmp_path)["items"]["config"]["meta"]["cdc"]["key"] == ["id"]
    assert "deletes-not-sent" in doctor("07").text
    assert said not in scaffold(tmp_path, "07").text, "said once"
