"""Names of objects as Spark's macros read them; tests/python/inspection/test_names.py has the same table in Python."""

from __future__ import annotations

import re

from .feeds import feed
from .harness import Renderer


def test_require_layout(macros: Renderer) -> None:
    macros.render("_require_layout", "m", feed(layout="confluent", order_by="offset"))
    macros.render("_require_layout", "m", feed(layout="(?<topic>[^/]+)/(?<offset>[0-9]+)$", order_by="offset"))
    assert macros.refusal("_require_layout", "m", feed(layout=5)).startswith("m: meta.cdc.layout is 5; allowed: ")


def test_last_part_says_what_the_path_says(macros: Renderer) -> None:
    """Where only the last part is looked at: a layout of the table whose pattern has no slash."""
    last_parts = {
        "confluent": "t+2+300.json",
        "confluent_hdfs": "t+2+300+310.avro",
        "msk": "t+2+300-1-ab",
        "aiven": "t-2-300.json",
    }
    rules = macros.render("_sink_names")
    found = {name for name in rules if macros.render("_pattern_of_layout", name)["is_of_last_part"]}
    assert found == set(last_parts)
    for name, last_part in last_parts.items():
        pattern = re.compile(rules[name]["pattern"])
        whole, last = pattern.search(f"s3://b/a+1+2/b-3-4/{last_part}"), pattern.search(last_part)
        assert whole
        assert last
        assert whole.groupdict() == last.groupdict() == {"topic": "t", "partition": "2", "offset": "300"}
        assert "substring_index(file_path, '/', -1)" in macros.render("_part_of_name", name, "offset", "bigint")
    own = macros.render("_part_of_name", "(?<topic>[^/]+)-(?<offset>[0-9]+)$", "offset", "bigint")
    assert own.startswith("try_cast(regexp_extract(file_path,")
