"""What an inspection says of the recorded corpora, held against what their databases say."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from captures.corpora import Corpus, Layout, Table
from captures.landing import folder, tables_of
from captures.plugin import corpora

from alluvium.inspection import Entity, inspect

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(config: pytest.Config) -> Iterator[tuple[Corpus, Layout, Table]]:
    for corpus in corpora(config):
        for layout in corpus.layouts:
            for table in tables_of(corpus, layout):
                yield corpus, layout, table


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "table" in metafunc.fixturenames:
        found = list(cases(metafunc.config))
        names = [f"{corpus.name}-{layout.name}-{table.name}" for corpus, layout, table in found]
        metafunc.parametrize(("corpus", "layout", "table"), found, ids=names)


@cache
def inspected(corpus: Corpus, layout: Layout) -> dict[str | None, Entity]:
    found = inspect(str(folder(corpus, layout)))
    return {entity.files.topic: entity for entity in found.entities}


def test_topic_is_recognised(corpus: Corpus, layout: Layout, table: Table) -> None:
    entity = inspected(corpus, layout)[table.topic]
    assert entity.name == table.name
    assert entity.shape == corpus.shape
    assert (entity.files.format, entity.files.layout, entity.records.has_store_envelope) == (
        layout.using,
        layout.sink,
        layout.store_envelope,
    )
    assert entity.source.connector in (corpus.engine, None)
    assert entity.records.errors == []
    assert entity.files.objects == entity.files.objects_read


def test_key_is_found(corpus: Corpus, layout: Layout, table: Table) -> None:
    key = inspected(corpus, layout)[table.topic].key
    if table.name == "products" and corpus.engine == "postgresql" and not layout.store_envelope:
        # No event tells its key from the titles: no product was deleted, and no title was changed or is there twice.
        assert (key.columns, key.candidates[:2]) == ((), (table.key, ("title",)))
    else:
        assert key.columns == table.key
        # A table that seems to have no key is asked about, unless its statement says so.
        assert key.question is None or not table.key


TYPES_AS_GOOD = {
    # A time of day as a text, as the guide has it, and as microseconds, as the comparison with the oracle has it.
    ("string", "bigint"),
    # Plain JSON does not say how wide a number is.
    ("bigint", "int"),
    ("bigint", "smallint"),
    ("int", "smallint"),
    ("array<bigint>", "array<int>"),
}


def test_columns_of_records_with_schema_have_the_types_of_the_database(
    corpus: Corpus, layout: Layout, table: Table
) -> None:
    entity = inspected(corpus, layout)[table.topic]
    proposed = {column.name: column.type for column in entity.columns}
    expected = {column.name: column.spark_type for column in table.columns}
    if entity.encoding.schema_versions:
        assert proposed.keys() == expected.keys()
    different = {
        name: (type_.data_type, expected[name])
        for name, type_ in proposed.items()
        if type_.data_type != expected[name]
        and (type_.data_type, expected[name]) not in TYPES_AS_GOOD
        and not any(name in question for question in entity.questions)
    }
    assert different == {}


def test_texts_of_numbers_have_their_semantic_type(corpus: Corpus, layout: Layout, table: Table) -> None:
    """Without it the text is JSON that no reader takes for a number."""
    entity = inspected(corpus, layout)[table.topic]
    expected = {
        column.name: column.meta["semantic_type"]
        for column in table.columns
        if column.spark_type == "string" and "semantic_type" in column.meta
    }
    proposed = {
        column.name: column.type.semantic_type
        for column in entity.columns
        if column.name in expected and not column.type.question
    }
    assert proposed.items() <= expected.items()
