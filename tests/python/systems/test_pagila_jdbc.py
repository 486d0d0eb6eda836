"""Pagila by Kafka Connect's JDBC source: the results that its document prints, and what its query has not seen."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from .loads import REPOSITORY, SAMPLES, Loaded, SystemUnderTest, Texts, expected_rows

if TYPE_CHECKING:
    pass

SOURCE = "pagila_jdbc"
FOLDER = SAMPLES / SOURCE
DUMP = "samples/pagila_jdbc/dump/address.csv"

# The results of the two queries, column for column.
COLUMNS = ("address_id", "address", "address2", "city", "state_province", "postal_code", "country", "last_update")
ALL_RECORDS = """
100|1308 Arecibo Way||Augusta-Richmond County|Georgia|30695|United States|2017-02-15 09:45:30.000
100|123 CDC Test Lane||Augusta-Richmond County|Georgia|30695|United States|2021-08-09 14:10:29.126
101|1599 Plock Drive||Tete|Tete|71986|Mozambique|2017-02-15 09:45:30.000
101|1599 Plock Drive|Apartment #2201|Tete|Tete|71986|Mozambique|2021-08-09 14:10:29.467
101|1599 Plock Drive|Apartment #2202|Tete|Tete|71986|Mozambique|2021-08-09 14:19:03.761
102|669 Firozabad Loop||al-Ayn|Abu Dhabi|92265|United Arab Emirates|2017-02-15 09:45:30.000
102|669 Firozabad Loop||Birnin Zana|Abu Dhabi|92265|Wakanda|2021-08-09 14:10:29.789
102|669 Firozabad Loop||Birnin Zana|Lake Turkana|92265|Wakanda|2021-08-09 15:56:53.323
103|588 Vila Velha Manor||Kimchon|Kyongsangbuk|51540|South Korea|2017-02-15 09:45:30.000
104|1913 Kamakura Place||Jelets|Lipetsk|97287|Russian Federation|2017-02-15 09:45:30.000
105|733 Mandaluyong Place||Abha|Asir|77459|Saudi Arabia|2017-02-15 09:45:30.000
"""
LATEST_RECORDS = """
100|123 CDC Test Lane||Augusta-Richmond County|Georgia|30695|United States|2021-08-09 14:10:29.126
101|1599 Plock Drive|Apartment #2202|Tete|Tete|71986|Mozambique|2021-08-09 14:19:03.761
102|669 Firozabad Loop||Birnin Zana|Lake Turkana|92265|Wakanda|2021-08-09 15:56:53.323
103|588 Vila Velha Manor||Kimchon|Kyongsangbuk|51540|South Korea|2017-02-15 09:45:30.000
104|1913 Kamakura Place||Jelets|Lipetsk|97287|Russian Federation|2017-02-15 09:45:30.000
105|733 Mandaluyong Place||Abha|Asir|77459|Saudi Arabia|2017-02-15 09:45:30.000
"""


def printed(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.strip().splitlines()]


def as_printed(row: Texts) -> list[str]:
    seconds, _, digits = (row["last_update"] or "").partition(".")
    return [*(row[name] or "" for name in COLUMNS[:-1]), f"{seconds}.{digits:0<3}"]


class TestSamples:
    """The files, without Spark."""

    def test_first_sink_writes_the_fifteen_objects_that_are_listed(self) -> None:
        topics = FOLDER / "1-snapshot" / "topics"
        counts = {}
        for table in ("address", "city", "country"):
            folder = topics / f"pagila.public.{table}" / "partition=0"
            counts[table] = sorted(int(file.name.split("+")[2][:10]) for file in folder.iterdir())
        assert counts == {
            "address": list(range(0, 700, 100)),
            "city": list(range(0, 600, 100)),
            "country": [0, 100],
        }
        assert sum(map(len, counts.values())) == 15

    def test_fields_that_transforms_add_rename_and_keep(self) -> None:
        def first(topic: str) -> dict[str, Any]:
            name = f"{topic}+0+0000000000.json.gz"
            text = gzip.decompress(
                (FOLDER / "1-snapshot" / "topics" / topic / "partition=0" / name).read_bytes()
            ).decode()
            row: dict[str, Any] = json.loads(text.splitlines()[99])
            return row

        row = {
            "address_id": 100,
            "address": "1308 Arecibo Way",
            "address2": "",
            "district": "Georgia",
            "city_id": 41,
            "postal_code": "30695",
            "phone": "6171054059",
            "last_update": 1487151930000,
        }
        assert first("pagila.public.address") == row
        added = {"message_topic": "pagila.public.alt.address", "message_source": "pagila"}
        assert first("pagila.public.alt.address") == {**row, **added}
        (query,) = [
            row for row in expected_rows(SOURCE, "1-snapshot", "slv_pagila_jdbc__query") if row["address_id"] == "599"
        ]
        assert query == {
            "address_id": "599",
            "address": "1895 Zhezqazghan Drive",
            "address2": "",
            "city": "Garden Grove",
            "state_province": "California",
            "postal_code": "36693",
            "country": "United States",
            "phone": "137809746111",
            "last_update": "2017-02-15 09:45:30",
            "message_topic": "pagila.query",
            "message_source": "pagila",
            "message_source_engine": "postgresql",
            "environment": "development",
        }

    def test_a_folder_for_each_country_blanks_and_all(self) -> None:
        folders = {folder.name for folder in (FOLDER / "1-snapshot" / "topics" / "pagila.query").iterdir()}
        countries = {row["country"] for row in expected_rows(SOURCE, "1-snapshot", "slv_pagila_jdbc__query")}
        assert folders == {f"country={country}" for country in countries}
        assert "country=United States" in folders

    def test_latest_records_of_the_query_are_those_that_are_printed(self) -> None:
        rows = expected_rows(SOURCE, "2-changes", "slv_pagila_jdbc__query")
        chosen = [as_printed(row) for row in rows if 100 <= int(row["address_id"] or 0) <= 105]
        assert chosen == printed(LATEST_RECORDS)

    def test_query_has_lost_what_the_dump_has(self) -> None:
        seen = {row["address_id"]: row for row in expected_rows(SOURCE, "2-changes", "slv_pagila_jdbc__address")}
        with (REPOSITORY / DUMP).open(encoding="utf-8", newline="") as file:
            dumped = {row["address_id"]: row for row in csv.DictReader(file)}
        assert seen.keys() - dumped.keys() == {"104"}, "deleted in the source"
        assert dumped.keys() - seen.keys() == {"606"}, "committed below the watermark"
        changed = {key for key in seen.keys() & dumped.keys() if seen[key]["phone"] != dumped[key]["phone"]}
        assert changed == {"106"}, "committed below the watermark"


@pytest.fixture(scope="module")
def system(loaded: Callable[[str], Loaded]) -> SystemUnderTest:
    """After the last load; how the tables are after each one is in test_expected_tables."""
    return loaded("pagila_jdbc").system


@pytest.mark.slow
class TestTables:
    """The tables."""

    def test_all_records_of_the_query(self, system: SystemUnderTest) -> None:
        polled = [
            row
            for row in system.texts("stg_pagila_jdbc__query", [*COLUMNS, "_cdc_op"])
            if row["_cdc_op"] == "u" and 100 <= int(row["address_id"] or 0) <= 105
        ]
        polled.sort(key=lambda row: (row["address_id"], row["last_update"]))
        assert [as_printed(row) for row in polled] == printed(ALL_RECORDS)

    def test_latest_records_without_the_deleted_one(self, system: SystemUnderTest) -> None:
        living = system.texts("slv_pagila_jdbc__query", COLUMNS)
        chosen = [as_printed(row) for row in living if 100 <= int(row["address_id"] or 0) <= 105]
        assert sorted(chosen) == [row for row in printed(LATEST_RECORDS) if row[0] != "104"]
        (deleted,) = [row for row in system.rows("slv_pagila_jdbc__query_state") if row["_is_deleted"]]
        assert (deleted["address_id"], deleted["city"]) == (104, "Jelets"), "the dump has deleted it, its values stay"

    def test_reconciliation_finds_what_a_query_has_lost(self, system: SystemUnderTest) -> None:
        columns = "[address, address2, district, city_id, postal_code, phone, last_update]"
        said = reconciled("slv_pagila_jdbc__alt_address", columns)
        assert "1 rows are missing, 1 are there that the dump has not, 1 are different" in said
        assert "all equal" in reconciled("slv_pagila_jdbc__address", columns)

    def test_snapshot_is_the_history_of_the_addresses(self, system: SystemUnderTest) -> None:
        names = ["address_id", "address2", "district", "city_id", "dbt_valid_from", "dbt_valid_to"]
        versions = [row for row in system.texts("silver.snp_pagila_jdbc__address", names) if row["address_id"] == "102"]
        versions.sort(key=lambda row: row["dbt_valid_from"] or "")
        assert [list(row.values())[2:] for row in versions] == [
            ["Abu Dhabi", "12", "2017-02-15 09:45:30", "2021-08-09 15:56:53.323"],
            ["Lake Turkana", "601", "2021-08-09 15:56:53.323", None],
        ]
        (gone,) = [row for row in system.rows("silver.snp_pagila_jdbc__address") if row["address_id"] == 104]
        assert gone["dbt_valid_to"] is not None


def reconciled(model: str, columns: str) -> str:
    """What `reconcile` says of a model beside the dump."""
    from dbt.cli.main import dbtRunner

    said: list[str] = []

    def on_event(event: Any) -> None:
        said.append(str(event.info.msg))

    arguments = f"{{model: {model}, dump: {DUMP}, format: csv, columns: {columns}}}"
    places = ("--project-dir", str(REPOSITORY), "--profiles-dir", str(REPOSITORY))
    result = dbtRunner(callbacks=[on_event]).invoke(["run-operation", "reconcile", "--args", arguments, *places])
    return "\n".join([*said, str(result.exception)])
