"""The guide describes everything that a user can write or meet, and nothing that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from render.harness import Renderer

from scripts.rules_tables import BLOCK, with_tables

from .guide import FENCE, FOLLOWED, GUIDE, REPOSITORY, anchors, blocks, code_words, pages, prose, section, tables, text

MACROS = REPOSITORY / "macros"
META_CDC, PURGE, QUARANTINE, TABLES = (GUIDE / f"{name}.md" for name in ("meta-cdc", "purge", "quarantine", "tables"))
# Options that go to `meta.cdc` of a model, not of a source.
MODEL_OPTIONS = {"merge_guard", "delete_policy", "stored_as_scd_type"}


def test_tables_of_rules_are_what_the_code_reads() -> None:
    """Else run scripts/rules_tables.py."""
    with_rules = [page for page in pages() if BLOCK.search(text(page))]
    assert with_rules
    for page in with_rules:
        assert with_tables(text(page)) == text(page), page


def macro_text(name: str) -> str:
    for path in MACROS.rglob("*.sql"):
        match = re.search(r"{%-? macro " + name + r"\(.*?endmacro -?%}", path.read_text(encoding="utf-8"), re.DOTALL)
        if match:
            return match[0]
    raise AssertionError(f"no macro {name}")


def returned(name: str) -> Any:
    """The literal that a macro returns."""
    match = re.search(r"return\(([\[{].*[\]}])\)", macro_text(name), re.DOTALL)
    assert match is not None
    literal = re.sub(r"\bnone\b", "None", match[1])
    return ast.literal_eval(re.sub(r"\bfalse\b", "False", re.sub(r"\btrue\b", "True", literal)))


def rows(page: Path, heading: str) -> list[list[str]]:
    (table, *_) = tables(section(page, heading))
    return table[1:]


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def reasons_given() -> list[str]:
    given = "".join(map(macro_text, ("_reason_of_line", "_reasons_of_columns", "_foreign_message")))
    return [
        code or named
        for code, named in re.findall(r"(?:then |concat\()'([a-z0-9_]+)(?=[:'])|\"code\": \"(\w+)\"", given)
    ]


def reason_codes() -> set[str]:
    return set(reasons_given())


def test_every_option_is_described_with_its_default_and_allowed_values() -> None:
    described = {
        code_words(option)[0]: (allowed, default)
        for option, allowed, default, _ in rows(META_CDC, "Options of a source or table")
    }
    defaults, allowed = returned("_feed_defaults"), Renderer().render("_feed_allowed_values")
    assert described.keys() == defaults.keys()
    for option, default in defaults.items():
        if default is None:
            assert described[option][1] in ("none", "none, has to be given"), option
        else:
            assert code_words(described[option][1]) == [shown(default)], option
        if option in allowed:
            # A number may be given as a text, too.
            values = list(dict.fromkeys(shown(value) for value in allowed[option]))
            if option == "connector":  # the others are in a table of the page that the cell links to
                values = ["jdbc", "table"]
            assert code_words(described[option][0]) == values, option


def test_every_option_of_a_column_is_described() -> None:
    match = re.search(r"option in cdc if option not in (\[.*?\])", macro_text("_feed_columns"))
    assert match is not None
    described = [code_words(option)[0] for option, *_ in rows(META_CDC, "Options of a column")]
    assert sorted(described) == sorted(ast.literal_eval(match[1]))


def test_every_semantic_type_is_described_and_no_other() -> None:
    described = {
        word
        for _, semantic_type, *_ in rows(META_CDC, "What comes out: `data_type` and semantic type")
        for word in code_words(semantic_type)
        if "." in word or word == "decimal"
    }
    assert described == {name for names in returned("_semantic_types_by_kind").values() for name in names}


def test_every_reason_code_has_a_section_and_no_other() -> None:
    assert set(re.findall(r"^## `(\w+)`$", text(QUARANTINE), re.MULTILINE)) == reason_codes()
    for code in reason_codes():
        body = section(QUARANTINE, f"`{code}`")
        assert "\nReason: " in body, code
        assert "\nRemedy: " in body, code


def test_reason_codes_stand_in_the_order_in_which_they_are_given() -> None:
    decided = [code for code in dict.fromkeys(reasons_given()) if code != "invalid_utf8"]
    assert [
        code for code in re.findall(r"^## `(\w+)`$", text(QUARANTINE), re.MULTILINE) if code != "invalid_utf8"
    ] == decided


def test_every_reader_error_is_described() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "spark_udfs").glob("*.py"))
    for code, *_ in rows(QUARANTINE, "`unreadable_file`"):
        assert code_words(code)[0] in sources
    codes = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| (?:given|none)",
        (REPOSITORY / "spark_udfs/README.md").read_text("utf-8"),
        re.MULTILINE,
    )
    described = {code_words(code)[0] for (code, *_) in rows(QUARANTINE, "`unreadable_file`")}
    assert described == set(codes) - {"invalid_utf8"}


def test_every_column_of_the_change_log_is_described_and_no_other() -> None:
    real = set(re.findall(r"as (_cdc_\w+)", macro_text("_change_log_columns")))
    described = {word for (names, *_) in rows(TABLES, "Change log") for word in code_words(names)}
    assert described == real


def test_every_column_of_the_state_is_described_and_no_other() -> None:
    lineage = set(returned("_state_lineage_columns"))
    real = lineage | set(
        re.findall(r"(?: as |(?<=\"))(_is_deleted|_deleted_at|_cdc_\w+)[, \"]", macro_text("_apply_deletes_sql"))
    )
    described = {word for (names, *_) in rows(TABLES, "State and living rows") for word in code_words(names)}
    assert described == real


def test_every_column_of_a_state_without_a_key_is_described_and_no_other() -> None:
    counted = "".join(map(macro_text, ("_row_changes", "_keyless_rows_sql", "_keyless_columns")))
    real = set(re.findall(r" as (_is_deleted|_deleted_at|_cdc_\w+)", counted))
    described = {word for (names, *_) in rows(TABLES, "Tables without a key") for word in code_words(names)}
    assert described == real


def test_every_column_of_a_history_is_described_and_no_other() -> None:
    lineage = set(returned("_state_lineage_columns")) - {"_cdc_source_ts"}
    selected = macro_text("_version_columns").partition("from (")[0]
    real = lineage | {"_cdc_batch"} | set(re.findall(r"(_valid_from|_valid_to|_is_current|_cdc_\w+),\n", selected))
    described = {word for (names, *_) in rows(TABLES, "History") for word in code_words(names)}
    assert described == real


def test_every_column_of_the_ledger_is_described_and_no_other() -> None:
    parts = ("create_file_ledger_sql", "offset_columns", "difference_columns", "replay_column", "declaration_column")
    definitions = "".join(macro_text(f"_{name}") for name in parts)
    real = re.findall(r"^(\w+) (?:string|int|bigint|timestamp|map|array)\b", definitions, re.MULTILINE)
    described = [word for (names, *_) in rows(TABLES, "Ledger") for word in code_words(names)]
    assert described == real


def test_every_column_of_the_ledger_of_runs_is_described_and_no_other() -> None:
    definitions = macro_text("_create_run_ledger_sql") + macro_text("_figures_of_run")
    real = re.findall(r"^(\w+) (?:string|bigint|timestamp|map|array|double)\b", definitions, re.MULTILINE)
    described = [word for (names, *_) in rows(TABLES, "Ledger of runs") for word in code_words(names)]
    assert described == real


def test_every_kind_is_described() -> None:
    kinds = set(re.findall(r"then '(\w+)'", macro_text("_record_kind") + macro_text("_kind_of_envelope")))
    kinds |= set(re.findall(r"then '(\w{2,})'", macro_text("_kind_of_line") + macro_text("_operations_of_rows")))
    (cell,) = [cells[2] for cells in rows(TABLES, "Change log") if cells[0] == "`_cdc_kind`"]
    assert set(code_words(cell)) == kinds


def test_every_column_of_the_ledger_of_purges_is_described_and_no_other() -> None:
    definition = macro_text("_create_purge_ledger_sql")
    real = re.findall(r"^(\w+) (?:string|timestamp|array)\b", definition, re.MULTILINE)
    described = [word for (names, *_) in rows(PURGE, "The ledger of purges") for word in code_words(names)]
    assert described == real


def test_every_argument_of_a_purge_is_described_with_its_default() -> None:
    match = re.search(r"macro purge_rows\((.*?)\) %}", macro_text("purge_rows"), re.DOTALL)
    assert match is not None
    arguments = dict(argument.strip().partition("=")[::2] for argument in match[1].split(","))
    (table, *_) = tables(prose(PURGE))
    described = {word: default.strip("`") for names, default, _ in table[1:] for word in code_words(names)}
    assert described == {name: default.strip('"') for name, default in arguments.items()}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_page_names_no_column_macro_or_variable_that_is_not_there(page: Path) -> None:
    macros = "".join(
        path.read_text(encoding="utf-8")
        for path in [*MACROS.rglob("*.sql"), *(REPOSITORY / "tests/generic").glob("*.sql")]
    )
    settings = [REPOSITORY / "profiles.yml", REPOSITORY / "alluvium" / "runtime" / "log4j2.properties"]
    modules = [*REPOSITORY.glob("*alluvium/**/*.py"), *REPOSITORY.glob("scripts/*.py")]
    readers = "".join(path.read_text(encoding="utf-8") for path in [*modules, *settings])
    for name in set(re.findall(r"\b_(?:cdc|is|deleted)_\w+", text(page))):
        assert name in macros, name
    for name in set(re.findall(r"\balluvium\.(\w+)\(", text(page))):
        assert f"macro {name}(" in macros, name
    for name in set(re.findall(r"\bALLUVIUM_[A-Z_]+", text(page))):
        assert re.search(rf"\b{name}\b", readers), name


LINKED = [*pages(), REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]


def test_paths_of_the_architecture_are_there() -> None:
    named = re.findall(r"`([\w./]+/[\w./]*)`", text(REPOSITORY / "docs" / "architecture.md"))
    assert len(named) > 30
    missing = [path for path in named if not (REPOSITORY / path).exists() and not (MACROS / path).exists()]
    assert missing == []


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", prose(page)):
        linked = page.parent / link if link else page
        assert linked.exists(), link
        if anchor:
            assert anchor in anchors(linked), f"{link}#{anchor}"


def test_each_test_of_the_page_of_change_streams_is_there() -> None:
    page = text(REPOSITORY / "docs" / "change-streams.md")
    named = re.findall(r"`([\w/]+[.]py)::(\w+)`", page)
    assert len(re.findall(r"^\| \d+ \|", page, re.MULTILINE)) == 45
    assert len(named) > 45
    for path, test in named:
        assert f"def {test}(" in (REPOSITORY / "tests" / "python" / path).read_text(encoding="utf-8"), test


def options(document: Any) -> Iterator[str]:
    """Every name below a ``cdc:``."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "cdc":
                yield from value
            else:
                yield from options(value)
    elif isinstance(document, list):
        for item in document:
            yield from options(item)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_yaml_has_options_that_exist(page: Path) -> None:
    known = set(returned("_feed_defaults")) | {"semantic_type", "nullable", "default", "unsigned"} | MODEL_OPTIONS
    for block in blocks(page, "yaml"):
        assert set(options(yaml.safe_load(block.body))) <= known


def test_followed_pages_name_tables_of_sources_that_they_have_scaffolded() -> None:
    """The slow test_adoption.py builds them: the marts and the move read the tables of another page."""
    scaffolded: set[str] = set()
    for page in FOLLOWED:
        for block in FENCE.finditer(text(GUIDE / f"{page}.md")):
            scaffolded.update(re.findall(r"alluvium scaffold .*--source (\w+)", block["body"]))
            named = set(re.findall(r"\b(?:stg|qrn|slv)_([a-z0-9]+(?:_[a-z0-9]+)*?)__\w", block["body"]))
            assert named <= scaffolded, (page, block[0])
    assert scaffolded
