"""A scaffold of a project that has one: answers are kept, edits too, and what no longer holds is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alluvium import AlluviumError
from alluvium.scaffolding.project import open_project
from alluvium.scaffolding.yaml_text import EditError, with_entry

from .project import MODELS, SOURCES, columns_of, kinds, landed, model_of, read, scaffolded, table_of

STATE = "models/silver/shop/slv_shop__orders_state"
LIVING = "models/silver/shop/slv_shop__orders"


def edited(root: Path, path: str, edit: Callable[[str], str]) -> None:
    (root / "project" / path).write_bytes(edit(read(root, path)).encode())


def replaced(root: Path, path: str, old: str, new: str) -> None:
    assert old in read(root, path)
    edited(root, path, lambda text: text.replace(old, new))


def grain_of(root: Path, path: str) -> list[str] | None:
    for test in model_of(root, path.rpartition("/")[2]).get("data_tests", []):
        for name, said in test.items() if isinstance(test, dict) else ():
            if name == "alluvium.unique_combination":
                return list(said["arguments"]["columns"])
    return None


def notices(root: Path, **options: Any) -> str:
    return "\n".join(notice for _, notice in scaffolded(root, **options).notices)


def flat(root: Path, topic: str, folder: str = "landing") -> None:
    """A file of a topic, in no folder of its own."""
    landed(root / "made", topic, {"id": 1}, {"id": 2})
    (file,) = (root / "made" / topic).rglob("*.json")
    (root / folder).mkdir(parents=True, exist_ok=True)
    file.rename(root / folder / file.name)


def test_filter_that_another_topic_makes_needed(root: Path) -> None:
    """Spark reads all that lies below a folder: rows of items would be living orders."""
    flat(root, "web.public.orders", "flat")
    scaffolded(root, "flat")
    declared = read(root, SOURCES)
    assert "options: {pathGlobFilter: web.public.orders+*}" in declared
    replaced(root, SOURCES, "          options: {pathGlobFilter: web.public.orders+*}\n", "")
    assert kinds(scaffolded(root, "flat"))[SOURCES] == "same", "it is alone there"
    flat(root, "web.public.items", "flat/below")
    assert kinds(scaffolded(root, "flat"))[SOURCES] == "added"
    assert read(root, SOURCES).startswith(declared)
    replaced(root, SOURCES, "web.public.orders+*", "'*.json'")
    (notice,) = [notice for _, notice in scaffolded(root, "flat").notices]
    assert "does its pathGlobFilter *.json leave out the files of web.public.items?" in notice
    replaced(root, SOURCES, "pathGlobFilter: '*.json'", "maxFilesPerTrigger: 1")
    assert "say options: {pathGlobFilter: web.public.orders+*}" in "\n".join(
        notice for _, notice in scaffolded(root, "flat").notices
    ), "the options are the user's own"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("web.public.orders+0+0000000000.json", "web.public.orders+0+0000000000.json"),
        ("rows-[1].json", r"rows-\[1\].json"),
    ],
)
def test_filter_of_one_file(root: Path, path: str, expected: str) -> None:
    flat(root, "web.public.orders", "flat")
    flat(root, "web.public.items", "flat")
    (root / "flat" / "rows-[1].json").write_text('{"id": 1}\n', encoding="utf-8")
    (feed,) = scaffolded(root, f"flat/{path}").feeds
    assert feed.name_filter == expected


def test_other_files_than_the_declared_one(root: Path) -> None:
    flat(root, "web.public.orders", "flat")
    scaffolded(root, "flat/web.public.orders+0+0000000000.json")
    landed(root / "made", "web.public.orders", {"id": 3}, offset=2)
    (file,) = (root / "made").rglob("*2.json")
    file.rename(root / "flat" / file.name)
    one = "its pathGlobFilter web.public.orders+0+0000000000.json reads one file alone: say"
    assert notices(root, folder="flat") == f"{one} web.public.orders+* where all that are here shall be read."
    assert notices(root, folder=f"flat/{file.name}") == f"{one} {file.name} where this one shall be read."
    assert notices(root, folder="flat/web.public.orders+0+0000000000.json") == ""
    replaced(
        root, SOURCES, "pathGlobFilter: web.public.orders+0+0000000000.json", "pathGlobFilter: web.public.orders+*"
    )
    for folder in ("flat", f"flat/{file.name}"):
        scaffold = scaffolded(root, folder)
        assert (kinds(scaffold)[SOURCES], scaffold.notices) == ("same", ())


def test_one_file_does_not_narrow_a_table(root: Path) -> None:
    (root / "flat").mkdir()
    for number in (1, 2):
        (root / "flat" / f"part-{number}.json").write_text(f'{{"id": {number}, "x": "a"}}\n', encoding="utf-8")
    scaffolded(root, "flat")
    (feed,) = scaffolded(root, "flat/part-2.json").feeds
    assert (feed.declared is not None, feed.name_filter, feed.lacks_filter) == (True, None, False)


@pytest.mark.parametrize("written", [" of the topic web.public.orders.", " of the web shop."])
def test_one_file_of_another_topic_is_another_table(root: Path, written: str) -> None:
    for topic in ("web.public.orders", "web.public.items"):
        flat(root, topic, "flat")
    scaffolded(root, "flat/web.public.orders+0+0000000000.json")
    replaced(root, SOURCES, " of the topic web.public.orders.", written)
    (feed,) = scaffolded(root, "flat/web.public.items+0+0000000000.json").feeds
    assert (feed.name, feed.declared) == ("items", None)


@pytest.mark.parametrize("written", [" sold.", " of the topic web.public.orders, sold ones.", " of the topic x. Sold."])
def test_table_that_was_renamed(root: Path, written: str) -> None:
    flat(root, "web.public.orders", "flat")
    scaffolded(root, "flat")
    edited(root, SOURCES, lambda text: text.replace("- name: orders\n", "- name: sales\n"))
    assert [feed.name for feed in scaffolded(root, "flat").feeds] == ["sales"]
    replaced(root, SOURCES, "          options: {pathGlobFilter: web.public.orders+*}\n", "")
    replaced(root, SOURCES, " of the topic web.public.orders.", written)
    assert [feed.name for feed in scaffolded(root, "flat").feeds] == ["sales"]


def test_files_that_no_filter_tells_apart(root: Path) -> None:
    flat(root, "web.public.items", "flat/below")
    (root / "flat" / "part-1.json").write_text('{"id": 1, "x": "a"}\n', encoding="utf-8")
    feeds = {feed.name: feed for feed in scaffolded(root, "flat").feeds}
    assert any("which files below" in question for question in feeds["flat" if "flat" in feeds else "rows"].questions)
    table = table_of(root, next(name for name in feeds if name != "items"))
    assert table["external"] == {"using": "json"}, "dbt refuses it until a location is said"


def test_table_of_the_same_name_elsewhere(root: Path) -> None:
    scaffolded(root)
    declared = read(root, SOURCES)
    landed(root / "moved", "us.public.orders", {"order_id": 1, "zip": "x"})
    with pytest.raises(AlluviumError, match=r"table orders is declared at .*landing.*lie at .*moved.*another --source"):
        scaffolded(root, "moved")
    assert read(root, SOURCES) == declared


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("../landing/./shop.public.orders/", ""),
        ("{{ var('landing') }}/shop.public.orders", ""),
        ("{{ env_var('LANDING_OF_TESTS') }}/shop.public.orders", ""),
        ("file://{{ var('landing') }}/shop.public.orders", ""),
        ("{{ var('unknown') }}/shop.public.orders", "has variables that are not known here"),
    ],
)
def test_location_in_other_words(root: Path, location: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDING_OF_TESTS", str(root / "landing"))
    (root / "project/dbt_project.yml").write_text(
        f"name: analytics\nvars: {{analytics: {{landing: {root / 'landing'}}}}}\n", encoding="utf-8"
    )
    scaffolded(root)
    replaced(root, SOURCES, f"location: {root / 'landing' / 'shop.public.orders'}", f"location: {json.dumps(location)}")
    scaffold = scaffolded(root)
    assert kinds(scaffold)[SOURCES] == "same"
    assert [said in notice for _, notice in scaffold.notices] == ([True] if said else [])


def test_history_of_rows_without_times(root: Path) -> None:
    path = root / "rows" / "shop.public.orders" / "shop.public.orders+0+0.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"order_id": 1, "at": "2026-05-01T00:00:00Z"}\n{"order_id": 2, "at": "2026-05-02T00:00:00Z"}\n')
    notices = [notice for _, notice in scaffolded(root, "rows", history=True).notices]
    assert len([notice for notice in notices if "_valid_from is NULL" in notice]) == 1
    replaced(root, SOURCES, "order_by: offset", "sequence_by: [at]")
    assert not any("_valid_from" in notice for _, notice in scaffolded(root, "rows", history=True).notices)
    assert not any("_valid_from" in notice for _, notice in scaffolded(root, "rows").notices)


def test_answered_key(root: Path) -> None:
    """The tests hold with either answer; a second run brings the models' YAML in line, and writes the history."""
    landed(root / "keyless", "shop.public.orders", {"nr": 1, "x": "a"}, {"nr": 1, "x": "a"})
    scaffold = scaffolded(root, "keyless", history=True)
    assert ("orders", "it has no history before its key is declared; say that, and scaffold again.") in scaffold.notices
    assert (grain_of(root, STATE), grain_of(root, LIVING)) == (None, None)
    names = {*columns_of(root, "slv_shop__orders")}
    assert not names & {"_cdc_row_hash", "_cdc_row_number", "_cdc_unresolved_columns"}
    replaced(root, SOURCES, "        columns:\n", "        config: {meta: {cdc: {keys: [nr]}}}\n        columns:\n")
    again = scaffolded(root, "keyless", history=True)
    assert kinds(again)[MODELS] == "replaced"
    assert kinds(again)[f"{LIVING}_history.sql"] == "new"
    assert (grain_of(root, STATE), grain_of(root, LIVING)) == (["nr"], ["nr"])
    assert not [question for feed in again.feeds for question in feed.questions if "key" in question]
    replaced(root, SOURCES, "{keys: [nr]}", "{key: []}")
    scaffolded(root, "keyless")
    assert grain_of(root, LIVING) == ["_cdc_row_hash", "_cdc_row_number"]


def test_corrected_key(root: Path) -> None:
    scaffolded(root, history=True)
    state = "  - name: slv_shop__orders_state\n"
    replaced(root, MODELS, state, state.replace("\n", " # mine\n"))
    replaced(root, SOURCES, "key: [order_id]", "key: [note]")
    again = scaffolded(root)
    assert [grain_of(root, path) for path in (LIVING, f"{LIVING}_history")] == [["note"], ["note", "_cdc_position"]]
    (grain,) = model_of(root, "slv_shop__orders")["data_tests"]
    assert grain["alluvium.unique_combination"]["arguments"]["not_null"] == ["note"]
    assert grain_of(root, STATE) == ["order_id"], "it was edited by hand"
    assert state.replace("\n", " # mine\n") in read(root, MODELS)
    assert set(kinds(scaffolded(root, history=True)).values()) == {"same"}
    assert f"{LIVING}_history.sql" in kinds(again), "it is there, and stays in line unasked"


def test_force_keeps_the_answers(root: Path) -> None:
    scaffolded(root)
    replaced(root, SOURCES, "key: [order_id]", "key: [note]\n              on_gap: fail")
    replaced(root, SOURCES, "data_type: bigint", "data_type: decimal(20,0)")
    scaffolded(root, force=True)
    assert table_of(root)["config"]["meta"]["cdc"]["key"] == ["note"]
    assert table_of(root)["config"]["meta"]["cdc"]["on_gap"] == "fail"
    assert table_of(root)["columns"][0]["data_type"] == "decimal(20,0)"


def test_force_says_what_it_takes_out(root: Path) -> None:
    landed(root / "landing", "shop.public.items", {"id": 1}, {"id": 2})
    scaffolded(root)
    assert [name for name, _ in scaffolded(root, entities=["orders"], force=True).notices] == ["items"]


def test_force_replaces_what_cannot_be_read(root: Path) -> None:
    scaffolded(root)
    edited(root, SOURCES, lambda _: "sources: [")
    assert kinds(scaffolded(root, force=True))[SOURCES] == "replaced"


def test_column_that_the_files_have_no_more(root: Path) -> None:
    scaffolded(root)
    (file,) = (root / "landing" / "shop.public.orders").rglob("*.json")
    file.unlink()
    landed(root / "landing", "shop.public.orders", {"order_id": 1, "new": "a"}, {"order_id": 2, "new": "b"})
    replaced(root, SOURCES, "key: [order_id]", "key: [note]")
    scaffolded(root)
    assert columns_of(root, "slv_shop__orders")[:3] == ["order_id", "note", "new"]
    assert grain_of(root, LIVING) == ["note"]
    scaffolded(root, force=True)
    assert [column["name"] for column in table_of(root)["columns"]] == ["order_id", "note", "new"]
    assert "{% docs shop__orders__note %}" in read(root, "models/_docs/shop.md")


def test_changed_type_is_said(root: Path) -> None:
    scaffolded(root)
    assert notices(root) == ""
    landed(root / "landing", "shop.public.orders", {"order_id": "A7", "note": "c"}, offset=2)
    assert "order_id is declared bigint, and the files have string now" in notices(root)


def test_column_that_is_left_out_stays_out(root: Path) -> None:
    scaffolded(root)
    replaced(root, SOURCES, "key: [order_id]", "key: [order_id]\n              except_column_list: [note]")
    scaffolded(root)
    for model in ("stg_shop__orders", "slv_shop__orders_state", "slv_shop__orders"):
        assert "note" not in columns_of(root, model)
    assert set(kinds(scaffolded(root)).values()) == {"same"}


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        (SOURCES, b"", "is no mapping with sources"),
        (SOURCES, b"- a\n", "is no mapping with sources"),
        (SOURCES, b"sources: [\n", "line 2"),
        (SOURCES, b"sources:\n  - name: other\n", "has no source shop"),
        (SOURCES, b"sources:\n  - name: shop\n    tables:\n", "tables of shop is no list"),
        (SOURCES, b"sources:\n  - name: shop\n    tables:\n      - nam: x\n", "an item without a name"),
        (
            SOURCES,
            b"sources:\n  - name: shop\n    tables:\n      - name: x\n        columns:\n",
            "columns of x is no list",
        ),
        (SOURCES, b"sources: {{ var('x') }}\n", "in quotes"),
        (SOURCES, b"version: 2\n---\nversion: 2\n", "one document"),
        (SOURCES, "# ok\n# é\n".encode("latin-1"), "line 2: a character is not in UTF-8"),
        (MODELS, b"models: [\n", "line 2"),
        ("dbt_project.yml", b"name: \xe9\n", "not in UTF-8"),
        ("dbt_project.yml", b"name:\n", "has no name"),
    ],
)
def test_file_that_cannot_be_read(root: Path, path: str, content: bytes, message: str) -> None:
    scaffolded(root)
    (root / "project" / path).write_bytes(content)
    with pytest.raises(AlluviumError, match=message) as refused:
        scaffolded(root)
    assert str(root / "project") in str(refused.value)


@pytest.mark.parametrize("content", ["", "version: 2\n", "models:\n", "models:\n  - name: slv_shop__orders\n"])
def test_models_yaml_that_says_nothing_is_left(root: Path, content: str) -> None:
    scaffolded(root)
    edited(root, MODELS, lambda _: content)
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "new": "c"}, offset=2)
    assert kinds(scaffolded(root))[MODELS] == "kept"
    assert read(root, MODELS) == content
    assert kinds(scaffolded(root, force=True))[MODELS] == "replaced"


def test_directory_in_the_place_of_a_file(root: Path) -> None:
    scaffolded(root)
    (root / "project" / SOURCES).unlink()
    (root / "project" / SOURCES).mkdir()
    with pytest.raises(AlluviumError, match="cannot be read"):
        scaffolded(root)


def test_topic_of_deletes_alone(root: Path) -> None:
    landed(root / "landing", "shop.public.gone", {"id": 1})
    (file,) = (root / "landing" / "shop.public.gone").rglob("*.json")
    line = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**line, "before": line["after"], "after": None, "op": "d"}), encoding="utf-8")
    for _ in range(2):
        scaffold = scaffolded(root)
        assert [feed.name for feed in scaffold.feeds] == ["orders"]
        assert [(name, "deletes alone" in notice) for name, notice in scaffold.notices] == [("gone", True)]
    with pytest.raises(AlluviumError, match="no entity has a row with columns"):
        scaffolded(root, entities=["gone"])


def test_model_paths_of_the_project(root: Path) -> None:
    (root / "project/dbt_project.yml").write_text("name: x\nmodel-paths: [transform, more]\n", encoding="utf-8")
    assert {path.partition("/")[0] for path in kinds(scaffolded(root))} == {"transform"}
    (root / "project" / "transform").rename(root / "project" / "more")
    assert {path.partition("/")[0] for path in kinds(scaffolded(root))} == {"more"}


def test_line_ends_stay(root: Path) -> None:
    scaffolded(root)
    files = [file for file in (root / "project" / "models").rglob("*") if file.is_file()]
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert set(kinds(scaffolded(root)).values()) == {"same"}
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "c", "channel": "web"}, offset=2)
    landed(root / "landing", "shop.public.items", {"item_id": 1})
    assert kinds(scaffolded(root))[SOURCES] == "added"
    for file in files:
        assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def test_deletes_said_later(root: Path) -> None:
    scaffolded(root)
    scaffold = scaffolded(root, deletes="hard")
    assert kinds(scaffold)[f"{STATE}.sql"] == "replaced"
    ((model, notice),) = scaffold.notices
    assert (model, "dbt build --full-refresh --select slv_shop__orders_state+" in notice) == (
        "slv_shop__orders_state",
        True,
    )
    assert '"delete_policy": "hard"' in read(root, f"{STATE}.sql")
    assert set(kinds(scaffolded(root)).values()) == {"same"}, "nothing is said of deletes: they stay"


def test_file_format_said_later(root: Path) -> None:
    scaffolded(root, history=True)
    history = STATE.replace("_state", "_history")
    scaffold = scaffolded(root, file_format="hudi")
    assert {path for path, kind in kinds(scaffold).items() if kind != "same"} == {f"{STATE}.sql", f"{history}.sql"}
    assert [(subject, notice.partition(";")[0]) for subject, notice in scaffold.notices] == [
        ("slv_shop__orders_state", "file_format is hudi now"),
        ("slv_shop__orders_history", "file_format is hudi now"),
        ("file_format", "tables of Hudi's need a session that knows it"),
    ]
    for path in (STATE, history):
        assert read(root, f"{path}.sql").startswith('{{ config(file_format="hudi") }}\n\n{{ ')
    assert set(kinds(scaffolded(root)).values()) == {"same"}, "nothing is said of the format: it stays"
    both = scaffolded(root, file_format="delta", deletes="hard")
    assert both.notices[0][1].startswith("delete_policy is hard now and file_format is delta now; ")


@pytest.mark.parametrize(("deletes", "settings"), [("soft", ""), ("hard", '{{ config(meta={"cdc": ')])
def test_models_of_0_1_are_rewritten(root: Path, deletes: str, settings: str) -> None:
    scaffolded(root, history=True, deletes=deletes)
    log, rows, history = (STATE.replace(*names) for names in (("slv_", "stg_"), ("_state", ""), ("_state", "_history")))
    log = log.replace("_state", "")
    new = {path: read(root, f"{path}.sql") for path in (log, rows, STATE, history)}
    old = '{{ config(\n    materialized="incremental",\n    incremental_strategy="%s",\n    post_hook="%s",\n%s) }}\n\n'
    hook = "{{ alluvium.record_applied_batches() }}"
    meta = f'    meta={{"cdc": {{"merge_guard": "_cdc_position", "delete_policy": "{deletes}"}}}},\n'
    calls = {path: text.rpartition("\n\n")[2] for path, text in new.items()}
    texts = {
        log: old % ("append", "{{ alluvium.record_applied_files() }}", "")
        + calls[log].replace("change_log", "decode_debezium"),
        rows: calls[rows].replace("current_rows", "living_rows"),
        STATE: old % ("merge", hook, meta) + calls[STATE],
        history: old % ("merge", hook, '    meta={"cdc": {"stored_as_scd_type": 2}},\n')
        + calls[history].replace("history(", "scd2_from_changes("),
    }
    for path, text in texts.items():
        (root / "project" / f"{path}.sql").write_text(text, encoding="utf-8")
    scaffold = scaffolded(root)
    assert {path for path, kind in kinds(scaffold).items() if kind == "replaced"} == {f"{path}.sql" for path in texts}
    assert {path: read(root, f"{path}.sql") for path in texts} == new
    assert new[STATE].startswith(settings)
    assert not any("delete_policy" in notice for _, notice in scaffold.notices)
    # Where a folder says otherwise, the model's own `soft` counts: it would go with the rest of config().
    (root / "project" / f"{STATE}.sql").write_text(texts[STATE], encoding="utf-8")
    edited(root, "dbt_project.yml", lambda text: f"{text}models: {{+meta: {{cdc: {{delete_policy: hard}}}}}}\n")
    scaffolded(root)
    assert (read(root, f"{STATE}.sql") == texts[STATE]) == (deletes == "soft")


def test_question_of_a_column_that_is_added(root: Path) -> None:
    scaffolded(root)
    landed(root / "landing", "shop.public.orders", {"order_id": 3, "note": "a", "price": "BNI="}, offset=2)
    scaffolded(root)
    text = read(root, SOURCES)
    assert "          # Answer before the first build: price looks like base64" in text
    assert text.index("price looks like base64") < text.index("- name: price")
    replaced(
        root,
        SOURCES,
        "shop__orders__price') }}\"\n",
        "shop__orders__price') }}\"\n            data_type: decimal(9,2)\n",
    )
    again = scaffolded(root)
    assert kinds(again)[SOURCES] == "added"
    assert "base64" not in read(root, SOURCES), "the comment goes with its question"
    assert not [question for feed in again.feeds for question in feed.questions if "base64" in question]


@pytest.mark.parametrize(
    ("answer", "is_asked"), [("sequence_by: [x]", False), ("order_by: [x]", False), ("order_by: offset", True)]
)
def test_order_that_is_declared(root: Path, answer: str, is_asked: bool) -> None:
    """By offset is what a scaffold proposes itself, of one partition."""
    folder = root / "rows" / "shop.public.orders"
    folder.mkdir(parents=True)
    for partition in (0, 1):
        line = f'{{"id": {partition}, "x": 5}}\n'
        (folder / f"shop.public.orders+{partition}+0.json").write_text(line, encoding="utf-8")
    asked = "are all changes of a row in one of 2 partitions"
    assert asked in str(scaffolded(root, "rows").feeds[0].questions)
    replaced(root, SOURCES, "key: [id]", f"key: [id]\n              {answer}")
    assert (asked in str(scaffolded(root, "rows").feeds[0].questions)) == is_asked


def test_names_of_descriptions_stay(root: Path) -> None:
    """Of columns that look alike one goes and one comes: no two have one description, and none has another one's."""
    landed(root / "sizes", "shop.public.sizes", {"id": 1, "Größe": "a", "Grüße": "b"}, {"id": 2})
    scaffolded(root, "sizes")
    text = read(root, SOURCES)
    gone = text[text.index("          - name: Größe") : text.index("          - name: Grüße")]
    (file,) = (root / "sizes").rglob("*.json")
    file.unlink()
    landed(root / "sizes", "shop.public.sizes", {"id": 1, "Grüße": "b", "Gräße": "c"}, {"id": 2})
    replaced(root, SOURCES, gone, "")
    scaffolded(root, "sizes")
    described = {column["name"]: column["description"] for column in table_of(root, "sizes")["columns"]}
    assert described["Grüße"] == "{{ doc('shop__sizes__gr_e_2') }}"
    assert len(set(described.values())) == 3
    model = model_of(root, "slv_shop__sizes")
    assert {column["name"]: column["description"] for column in model["columns"]}.items() >= {
        "Grüße": described["Grüße"],
        "Gräße": described["Gräße"],
    }.items()
    name = described["Gräße"].split("'")[1]
    assert f"{{% docs {name} %}}Column Gräße of sizes" in read(root, "models/_docs/shop.md")


def test_names_that_are_taken(root: Path) -> None:
    landed(root / "landing", "shop.public.odd", {"id": 1, "_cdc_op": "x", "_metadata": "y"}, {"id": 2})
    scaffold = scaffolded(root, entities=["odd"])
    asked = [question.partition(" ")[0] for question in scaffold.feeds[0].questions if "is a name that" in question]
    assert asked == ["_cdc_op", "_metadata"]
    edited(root, SOURCES, lambda text: text[: text.index("          - name: _cdc_op")])
    replaced(
        root, SOURCES, "              key: [id]\n", "              key: [id]\n              unknown_columns: ignore\n"
    )
    again = scaffolded(root, entities=["odd"])
    assert {path for path, kind in kinds(again).items() if kind != "same"} == {SOURCES}
    assert "is a name that" not in read(root, SOURCES)
    assert not [question for question in again.feeds[0].questions if "is a name that" in question]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a:\n  - name: x\n    b:\n      c: 1 # c\n    d: 2\n",
            "a:\n  - name: x\n    b:\n      c: 1 # c\n      o: {p: q}\n    d: 2\n",
        ),
        ("a:\n- name: x\n  b:\n    c: [1,\n      2]", "a:\n- name: x\n  b:\n    c: [1,\n      2]\n    o: {p: q}\n"),
        (
            "a:\n- name: x\n  b:\n    c:\n      d: |\n        e\n\n#\n",
            "a:\n- name: x\n  b:\n    c:\n      d: |\n        e\n    o: {p: q}\n\n#\n",
        ),
    ],
)
def test_entry_is_put_to_the_end_of_its_mapping(text: str, expected: str) -> None:
    assert with_entry(text, ["a", ("name", "x"), "b"], "o", "{p: q}") == expected


@pytest.mark.parametrize("text", ["a: {b: {c: 1}}\n", "a:\n  b:\n    o: 1\n", "a:\n  b:\n"])
def test_entry_that_cannot_be_put(text: str) -> None:
    with pytest.raises(EditError):
        with_entry(text, ["a", "b"], "o", "1")


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("s3://bucket/a/", "s3a://bucket/a"),
        ("s3a://{{ var('bucket', 'b') }}", "s3a://b"),
        ("hdfs://host/a/", "hdfs://host/a"),
        ("{{ target.name }}/a", None),
        ("{{ unclosed", None),
    ],
)
def test_place_of_a_location(root: Path, location: str, place: str | None) -> None:
    assert open_project(root / "project").place(location) == place


def test_location_that_answers_a_question(root: Path) -> None:
    flat(root, "web.public.items", "flat/below")
    (root / "flat" / "part-1.json").write_text('{"id": 1, "x": "a"}\n', encoding="utf-8")
    scaffolded(root, "flat")
    using = "        external:\n          using: json\n"
    replaced(root, SOURCES, using, f"        external:\n          location: {root / 'flat'}\n          using: json\n")
    ((_, notice),) = scaffolded(root, "flat").notices
    assert "the files of web.public.items lie in its folder, too, and are read as its own" in notice
    replaced(root, SOURCES, f"{root / 'flat'}\n", f"{root / 'flat'}\n          options: {{pathGlobFilter: part-*}}\n")
    again = scaffolded(root, "flat")
    assert (kinds(again)[SOURCES], again.notices) == ("same", ())
