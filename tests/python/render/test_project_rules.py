"""Rules of the whole project, read from the manifest that dbt writes without a Spark session."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlfluff.core import FluffConfig, Linter

from .compiled import compiled
from .harness import REPOSITORY

LAYERS = {"bronze", "silver", "gold"}
# Role prefixes of a layer's models. A change log is the only model that reads a source.
PREFIXES = {"silver": ("stg_", "qrn_", "slv_"), "gold": ("dim_", "fct_", "agg_")}
SILVER_NAME = re.compile(r"(stg|qrn|slv)_(?P<source>[a-z0-9]+(?:_[a-z0-9]+)*)__(?P<entity>[a-z0-9]+(_[a-z0-9]+)*)")
GOLD_NAME = re.compile(r"(dim|fct|agg)_[a-z0-9]+(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Parsed:
    """What dbt said and wrote, and the statements that it sent."""

    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    queries: list[str]

    def models(self) -> Iterator[dict[str, Any]]:
        """The project's own models."""
        for node in self.manifest["nodes"].values():
            if node["resource_type"] == "model" and node["package_name"] == "alluvium":
                yield node

    def sources(self) -> Iterator[dict[str, Any]]:
        """The tables of the project's own sources."""
        yield from self.manifest["sources"].values()


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The project, parsed and compiled from nothing in a fresh home, as `dbt docs generate` does."""
    out = tmp_path_factory.mktemp("parse")
    done = compiled(REPOSITORY, out, "docs", "generate", "--no-partial-parse")
    assert done.code == 0, done.output
    assert (out / "catalog.json").is_file()
    events = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    return Parsed(json.loads((out / "manifest.json").read_text("utf-8")), events, done.queries)


def layer(node: dict[str, Any]) -> str:
    """The folder below models/ that a model or a source lies in."""
    return Path(node["original_file_path"]).parts[1]


def folder(node: dict[str, Any]) -> str:
    """The source or domain that a model or a source lies in."""
    return Path(node["original_file_path"]).parts[2]


def test_parsing_warns_of_nothing(parsed: Parsed) -> None:
    """Macro YAML that does not match its macro, unused configuration, deprecated syntax: all are warnings of dbt.

    dbt fires InvalidMacroAnnotation, the one for macro YAML, through its warnings and still gives it another level.
    """
    assert parsed.events, "dbt parse said nothing"
    said = [
        event["info"]["msg"]
        for event in parsed.events
        if event["info"]["level"] in {"warn", "error"} or event["info"]["name"] == "InvalidMacroAnnotation"
    ]
    assert said == []


def test_the_docs_site_shows_public_macros_alone(parsed: Parsed) -> None:
    own = [macro for macro in parsed.manifest["macros"].values() if macro["package_name"] == "alluvium"]
    macros = {macro["name"] for macro in own if macro["docs"]["show"] and not macro["name"].startswith("test_")}
    assert macros == {macro["name"] for macro in own if macro["patch_path"]}
    assert 0 < len(macros) < len(own) / 20


def test_compiling_asks_no_table(parsed: Parsed) -> None:
    """Nothing is built yet: every model, every test and every hook renders without the warehouse."""
    assert parsed.queries == []


def test_models_lie_in_a_layer(parsed: Parsed) -> None:
    models = list(parsed.models())
    assert models
    for model in models:
        assert layer(model) in PREFIXES, model["original_file_path"]
        assert len(Path(model["original_file_path"]).parts) == 4, model["original_file_path"]


def test_models_are_named_by_role_and_source(parsed: Parsed) -> None:
    for model in parsed.models():
        if layer(model) == "silver":
            match = SILVER_NAME.fullmatch(model["name"])
            assert match, model["name"]
            assert match["source"] == folder(model), model["name"]
        else:
            assert GOLD_NAME.fullmatch(model["name"]), model["name"]


def test_sources_lie_in_bronze(parsed: Parsed) -> None:
    for source in parsed.sources():
        assert Path(source["original_file_path"]).parts[1:] == (
            "bronze",
            source["source_name"],
            f"_{source['source_name']}__sources.yml",
        )


def test_layers_are_read_upwards_only(parsed: Parsed) -> None:
    """silver reads sources and silver of its own source; gold reads silver, and gold of its own domain."""
    for model in parsed.models():
        for parent in model["depends_on"]["nodes"]:
            said = f"{model['name']} reads {parent}"
            if parent.startswith("source."):
                assert model["name"].startswith("stg_"), said
                assert parsed.manifest["sources"][parent]["source_name"] == folder(model), said
                continue
            read = parsed.manifest["nodes"][parent]
            if layer(model) == "silver":
                assert layer(read) == "silver", said
            if layer(read) == layer(model):
                assert folder(read) == folder(model), said
            assert not read["name"].startswith(("qrn_",)), said
            assert layer(model) != "gold" or not read["name"].startswith("stg_"), (
                f"{said}: a mart is built from rows, not events"
            )


def test_roles_read_their_role(parsed: Parsed) -> None:
    """A change log reads one source; its quarantine, state and history read it; the living rows read the state."""
    for model in parsed.models():
        if layer(model) != "silver":
            continue
        match = SILVER_NAME.fullmatch(model["name"])
        assert match
        entity = f"{match['source']}__{match['entity']}"
        wanted = (
            f"source.alluvium.{match['source']}.{match['entity']}"
            if model["name"].startswith("stg_")
            else f"model.alluvium.stg_{entity.removesuffix('_state').removesuffix('_history')}"
            if model["name"].startswith("qrn_") or entity.endswith(("_state", "_history"))
            else f"model.alluvium.slv_{entity}_state"
        )
        assert model["depends_on"]["nodes"] == [wanted], model["name"]


def test_models_of_an_entity_are_described_in_one_file(parsed: Parsed) -> None:
    """Beside them, in the order in which an event meets them; each mart has its own."""
    described: dict[Path, set[str]] = {}
    for model in parsed.models():
        sql, name = Path(model["original_file_path"]), model["name"]
        entity = name.partition("_")[2].removesuffix("_state").removesuffix("_history")
        path = sql.with_name(f"{entity if layer(model) == 'silver' else name}.yml")
        assert model["patch_path"] == f"alluvium://{path}", f"{path} describes {name}"
        described.setdefault(path, set()).add(name)
    for path, names in described.items():
        of_entity = ("stg_{}", "qrn_{}", "slv_{}_state", "slv_{}", "slv_{}_history", "{}")
        order = [name for name in (pattern.format(path.stem) for pattern in of_entity) if name in names]
        document = yaml.safe_load((REPOSITORY / path).read_text("utf-8"))
        assert [entry["name"] for entry in document["models"]] == order, path


def test_a_column_of_silver_is_written_once() -> None:
    """Where it comes first in the YAML of its entity; the other models name it by an alias."""
    for path in (REPOSITORY / "models" / "silver").rglob("*.yml"):
        described = re.findall(r"\{name: \w+, description: \"[^\"]*\"", path.read_text("utf-8"))
        assert described, path
        assert len(described) == len(set(described)), path


def test_a_description_begins_with_the_grain(parsed: Parsed) -> None:
    for model in parsed.models():
        assert re.match(r"One row per \w[^.]*[.:;]", model["description"]), f"{model['name']}: {model['description']!r}"


def test_the_grain_is_a_test(parsed: Parsed) -> None:
    """What the first sentence says is tested: unique columns, or every line of every file once for a change log."""
    grain = {"unique", "unique_combination", "every_line_accounted_for"}
    tested = {
        node["attached_node"]
        for node in parsed.manifest["nodes"].values()
        if node["resource_type"] == "test" and (node.get("test_metadata") or {}).get("name") in grain
    }
    assert {model["unique_id"] for model in parsed.models()} - tested == set()


def test_columns_are_described(parsed: Parsed) -> None:
    for node in (*parsed.models(), *parsed.sources()):
        assert node["columns"], f"{node['name']} has no columns"
        bare = [column["name"] for column in node["columns"].values() if not column["description"].strip()]
        assert bare == [], f"{node['unique_id']}: no description"


def test_sources_and_their_tables_are_described(parsed: Parsed) -> None:
    for source in parsed.sources():
        assert source["source_description"].strip(), source["source_name"]
        assert source["description"].strip(), source["unique_id"]


def test_gold_has_enforced_contracts(parsed: Parsed) -> None:
    for model in parsed.models():
        if layer(model) == "gold":
            assert model["config"]["contract"]["enforced"], model["name"]
            untyped = [column["name"] for column in model["columns"].values() if not column["data_type"]]
            assert untyped == [], f"{model['name']}: a contract names every type"


def test_marts_that_compute_have_a_unit_test(parsed: Parsed) -> None:
    """A mart that only names and picks columns needs none."""
    tested = {entry["model"] for entry in parsed.manifest["unit_tests"].values()}
    for model in parsed.models():
        sql = re.sub(r"\{\{.*?\}\}", "", model["raw_code"], flags=re.DOTALL)
        if layer(model) == "gold" and re.search(r"\b(join|group by)\b|\w\(|[-+*/<>=]", sql):
            assert model["name"] in tested, model["name"]


def test_schemas_are_the_layers(parsed: Parsed) -> None:
    for node in (*parsed.models(), *parsed.sources()):
        assert node["schema"] == layer(node), node["unique_id"]
        assert node["schema"] in LAYERS


def test_models_are_clean_under_sqlfluff() -> None:
    """The command of `make lint`."""
    command = [sys.executable, "-m", "sqlfluff", "lint", "--disable-progress-bar", "models"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT sku from {{ ref('a') }}\n", "CP01"),
        ("select\n    sku\n    , qty\nfrom {{ ref('a') }}\n", "LT04"),
        ("select\n    sku,\n    count(*) as n\nfrom {{ ref('a') }}\ngroup by 1\n", "AM06"),
        ("select sku from {{ ref('a') }} a\n", "AL01"),
        ("select sku from from {{ ref('a') }}\n", "PRS"),
        (f"select {'a' * 50} + {'b' * 50}\nfrom {{{{ ref('a') }}}}\n", "LT05"),
    ],
)
def test_sqlfluff_is_set_to_find(sql: str, code: str) -> None:
    linted = Linter(config=FluffConfig.from_path(str(REPOSITORY))).lint_string(sql)
    assert code in {violation.rule_code() for violation in linted.get_violations()}


def test_a_noqa_names_its_rule_and_says_why() -> None:
    for path in (REPOSITORY / "models").rglob("*.sql"):
        for line in path.read_text("utf-8").splitlines():
            if "noqa" in line.lower():
                assert re.search(r"-- .{10,} -- noqa: [A-Z]{2}\d{2}$|-- noqa: [A-Z]{2}\d{2} .{10,}", line), (
                    f"{path}: {line}"
                )
