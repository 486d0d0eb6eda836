"""Names of objects as Spark's macros read them; tests/python/inspection/test_names.py has the same table in Python."""

from __future__ import annotations

from .feeds import feed
from .harness import Renderer


def test_require_layout(macros: Renderer) -> None:
    macros.render("_require_layout", "m", feed(layout="confluent", order_by="offset"))
    macros.render("_require_layout", "m", feed(layout="(?<topic>[^/]+)/(?<offset>[0-9]+)$", order_by="offset"))
    assert macros.refusal("_require_layout", "m", feed(layout=5)).startswith("m: meta.cdc.layout is 5; allowed: ")
