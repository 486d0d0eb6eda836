"""Sources as dbt's graph has them, and feeds as the macros read them from there."""

from __future__ import annotations

from typing import Any

from .harness import Renderer, kind_of, relation

# Names that a source may have given its columns; each has broken some tool that pasted it into SQL.
ODD_NAMES = ("a b", "sel`ect", "Upper", "with.dot", "it's", "back\\slash", "from")


def column(name: str, data_type: str = "string", **cdc: Any) -> dict[str, Any]:
    """A column of a feed."""
    return {"name": name, "data_type": data_type, "cdc": cdc}


def feed(**options: Any) -> dict[str, Any]:
    """A feed: the defaults, a PostgreSQL envelope in JSON with the key `id`, and what the test says."""
    defaults: dict[str, Any] = Renderer().render("_feed_defaults")
    made: dict[str, Any] = {
        "connector": "postgresql",
        "shape": "envelope",
        "key": ["id"],
        "name": "shop.orders",
        "source_name": "shop",
        "entity": "orders",
        "location": "/landing/orders",
        "format": "json",
        "columns": [column("id", "int"), column("note")],
        "relation": relation("shop__orders", "bronze"),
    }
    return {**defaults, **made, **options}


def source(**changes: Any) -> dict[str, Any]:
    """The node of the source `shop.orders` in dbt's graph.

    Args:
        **changes: keys of the node; ``cdc`` is its table's ``meta.cdc``, ``using`` and ``options`` are put into
            ``external``.
    """
    cdc = changes.pop("cdc", {})
    external = {"location": "/landing/orders", "using": changes.pop("using", "json")}
    if "options" in changes:
        external["options"] = changes.pop("options")
    return {
        "unique_id": "source.alluvium.shop.orders",
        "resource_type": "source",
        "source_name": "shop",
        "name": "orders",
        "database": None,
        "schema": "bronze",
        "identifier": "shop__orders",
        "source_meta": {"cdc": {"connector": "postgresql", "shape": "envelope"}},
        "meta": {"cdc": {"key": ["id"], **cdc}},
        "config": {},
        "external": external,
        "columns": {
            "id": {"name": "id", "data_type": "INT", "meta": {}},
            "note": {"name": "note", "data_type": "string", "meta": {}},
        },
    } | changes


def model(name: str, *parents: str, **config: Any) -> dict[str, Any]:
    """The node of a model in dbt's graph, in the schema silver.

    Args:
        name: its name, by which it has its kind.
        *parents: what it reads, by unique id.
        **config: its settings, the ``meta`` beside its kind among them.
    """
    kind = {"alluvium_model": kind_of(name, config.get("incremental_strategy"))}
    return {
        "resource_type": "model",
        "name": name,
        "schema": "silver",
        "alias": name,
        "config": {**config, "meta": kind | config.get("meta", {})},
        "depends_on": {"nodes": list(parents)},
    }


def shop(**changes: Any) -> Renderer:
    """A renderer whose graph has `shop.orders`, its change log, its state and its living rows.

    Args:
        **changes: of the source's node, as in :func:`source`.
    """
    return Renderer(
        sources={"source.alluvium.shop.orders": source(**changes)},
        nodes={
            "model.stg": model("stg_shop__orders", "source.alluvium.shop.orders"),
            "model.state": model("slv_shop__orders_state", "model.stg"),
            "model.slv": model("slv_shop__orders", "model.state"),
        },
    )


def staged(renderer: Renderer, source_id: str = "source.alluvium.shop.orders") -> dict[str, Any]:
    """The answer that says that a source is staged as it is declared."""
    node = renderer.sources[source_id]
    declaration = renderer.render("_external_declaration", node)
    row = {"tableName": node["identifier"], "information": f"Table Properties: [alluvium.declaration={declaration}]"}
    files = {"tableName": node["identifier"] + "__files", "information": ""}
    return {"show table extended in bronze like '*'": [row, files]}
