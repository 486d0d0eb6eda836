"""What the tests of this folder run on: the recorded corpora, and the dbt project over them."""

from __future__ import annotations

import pytest

from .events import json_layout
from .landing import tables_of
from .pipeline import Case, Pipeline
from .plugin import corpora

# What `make test` builds, and at which checkpoints (counted from the last one, -1); `make test-all` builds all of them.
FAST = {("pg-envelope-json-schemas", "lenses-envelope", "orders"): (-3, -1)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrizes what the tests of this package ask for by name.

    ``case`` is each table of each layout at each checkpoint, ``final_case`` those of the last checkpoint,
    ``rebuilt_case`` those of the last checkpoint too, and the table is built in batches and then anew,
    ``recorded`` each table that has a JSON layout at each checkpoint, ``corpus`` each corpus.
    """
    for argument in ("case", "final_case", "rebuilt_case"):
        if argument in metafunc.fixturenames:
            parameters = [
                pytest.param(
                    case,
                    id=case.id,
                    marks=() if argument != "rebuilt_case" and is_fast(case) else pytest.mark.slow,
                )
                for case in all_cases(metafunc.config)
                if argument == "case" or case.checkpoint == case.corpus.checkpoints[-1]
                if argument != "rebuilt_case" or is_rebuilt(case)
            ]
            metafunc.parametrize(argument, parameters)
    if "recorded" in metafunc.fixturenames:
        recorded = [
            pytest.param((corpus, table, checkpoint), id=f"{corpus.name}-{table.name}-{checkpoint.name}")
            for corpus in corpora(metafunc.config)
            for table in corpus.tables
            for checkpoint in corpus.checkpoints
            if json_layout(corpus, table) is not None
        ]
        metafunc.parametrize("recorded", recorded)
    if "corpus" in metafunc.fixturenames:
        metafunc.parametrize("corpus", [pytest.param(corpus, id=corpus.name) for corpus in corpora(metafunc.config)])


def all_cases(config: pytest.Config) -> list[Case]:
    """Every table of every layout of every corpus at every checkpoint, in the order in which they are built.

    So a run that is stopped has compared what it had built.
    """
    cases = [
        Case(corpus, layout, table, checkpoint)
        for corpus in corpora(config)
        for layout in corpus.layouts
        for table in tables_of(corpus, layout)
        for checkpoint in corpus.checkpoints
    ]
    return sorted(cases, key=lambda case: case.round)


def is_rebuilt(case: Case) -> bool:
    """True for one layout of each corpus: what is compared there does not depend on how the files are read."""
    return case.layout == case.corpus.layouts[0]


def is_fast(case: Case) -> bool:
    """True for the part that `make test` runs."""
    table = (case.corpus.name, case.layout.name, case.table.entity)
    return case.round in FAST.get(table, ())


@pytest.fixture(scope="session")
def pipeline(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, format_variables: dict[str, str]
) -> Pipeline:
    """The dbt project over what the selected tests ask for; it runs when the first of them asks."""
    if request.config.getoption("--target") == "thrift":
        request.getfixturevalue("spark")
    asked: dict[str, list[Case]] = {"case": [], "final_case": [], "rebuilt_case": []}
    for item in request.session.items:
        callspec = getattr(item, "callspec", None)
        for argument in asked:
            # Other folders' tests may have an argument of that name.
            if callspec is not None and isinstance(callspec.params.get(argument), Case):
                asked[argument].append(callspec.params[argument])
    cases = dict.fromkeys([*asked["case"], *asked["final_case"]])
    return Pipeline(tmp_path_factory.mktemp("captures"), cases, asked["rebuilt_case"], format_variables)
