from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from alluvium.inspection import Entity, inspect
from alluvium.inspection.before_images import before_images_of
from alluvium.inspection.current_rows import Inserts, RowChange, are_shared, count_inserts, is_key, transaction_of
from alluvium.inspection.keys import MAX_SETS, Candidates, Key, key_by_data, key_of_messages, key_of_rows
from alluvium.inspection.keys import checked_against_message_keys as checked


def change(op: str, row: dict[str, Any], transaction: int = 0) -> RowChange:
    return RowChange(op, row if op == "d" else None, None if op == "d" else row, transaction)


def found(changes: list[RowChange], *candidates: str) -> tuple[str, ...]:
    """The key, or the likeliest answer where it is asked about."""
    return key_by_data(Candidates("things", candidates), changes).likely


def test_message_keys_say_it() -> None:
    keys = [{"region": "EU", "no": 1}, {"region": "US", "no": 1}]
    assert key_of_messages(keys, ["no", "region", "note"]) == Key(("region", "no"), "the message keys of 2 records")
    assert key_of_messages([], ["no"]) is None
    assert key_of_messages([{"no": 1}, {"other": 1}], ["no", "other"]) is None
    assert key_of_messages([{"aggregate": 1}], ["no"]) is None


def test_name_of_a_key_goes_before_its_place() -> None:
    rows = [change("r", {"name": f"n{number}", "id": number}) for number in range(3)]
    assert key_by_data(Candidates("things", ["name", "id"]), rows) == Key(("id",), "unique in 3 images of the data")
    by_name = key_by_data(Candidates("things", ["name"]), rows)
    assert (by_name.columns, by_name.question) == ((), "is the key name? Its name does not say so.")


def test_name_of_a_key_may_have_blanks() -> None:
    rows = [change("r", {"Order No": number, "note": f"k{number}"}) for number in range(3)]
    assert found(rows, "Order No", "note") == ("Order No",)


def test_composite_key() -> None:
    rows = [change("r", {"order_no": order, "line": line}) for order in range(2) for line in range(2)]
    key = key_by_data(Candidates("things", ["order_no", "line"]), rows)
    assert (key.columns, key.question) == ((), "is the key order_no, line? It may be unique by chance.")


@pytest.mark.parametrize(
    ("entity", "rows", "expected"),
    [
        # A number or a code of the table's own, and a reference that is unique by chance, however many rows there are.
        ("orders", [{"order_number": no, "item_id": 500 - no} for no in range(200)], ["item_id", "order_number"]),
        ("books", [{"isbn": f"978-{no}", "author_id": no} for no in range(4)], ["author_id", "isbn"]),
        ("countries", [{"iso": f"c{no}", "region_uuid": f"r{no}", "area": no + 0.5} for no in range(4)],
         ["region_uuid", "iso"]),
        ("orders", [{"order_id": no, "order_no": f"n{no}"} for no in range(200)], ["order_id", "order_no"]),
        # By convention the key, whatever else is unique.
        ("customers", [{"email": f"{no}@x", "id": no} for no in range(3)], None),
        ("customers", [{"email": f"{no}@x", "customer_id": no} for no in range(3)], None),
        # One tenant only: nothing shows whether another one has the same numbers.
        ("orders", [{"tenant_id": 7, "id": no} for no in range(3)], ["id"]),
        ("orders", [{"id": no, "tenant_id": 7} for no in range(3)], None),
        ("line", [{"a_id": no // 4, "b": no // 2 % 2, "c": no % 2, "d": no % 4} for no in range(8)],
         ["a_id, d", "a_id, b, c"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("op", ["r", "c"])
def test_of_several_answers_none_is_taken(
    entity: str, rows: list[dict[str, Any]], expected: list[str] | None, op: str
) -> None:
    changes = [change(op, row, 7 if op == "r" else number) for number, row in enumerate(rows)]
    key = key_by_data(Candidates(entity, list(rows[0]), weak=["area"]), changes)
    if expected is None:
        assert (key.question, len(key.columns)) == (None, 1)
    elif len(expected) == 2 and "," in expected[1]:
        assert (key.columns, ", ".join(key.candidates[0])) == ((), expected[0])
    else:
        assert (key.columns, [", ".join(columns) for columns in key.candidates]) == ((), expected)
        alone = " alone, or together with tenant_id" if "tenant_id" in rows[0] else ""
        assert f"is the key {', or is it '.join(expected)}{alone}?" in str(key.question)


@pytest.mark.parametrize("image", [None, {"id": None, "name": None}])
def test_events_without_an_image_do_not_hide_the_key(image: dict[str, Any] | None) -> None:
    rows = [change("c", {"id": number, "name": "a"}, number) for number in range(3)]
    empty = [RowChange("d", image, None, 8), RowChange("u", None, image, 9), RowChange("c", None, image, 10)]
    for events in ([*rows, *empty], [*empty, *rows]):
        key = key_by_data(Candidates("items", ["id", "name"]), events)
        assert key == Key(("id",), "unique in 3 images of the data")


def test_deletes_show_which_of_several_answers_is_the_key() -> None:
    rows = [change("r", {"item_id": no + 5, "number": no}) for no in range(4)]
    gone = [change("d", {"item_id": None, "number": no}, no + 1) for no in range(3)]
    assert key_by_data(Candidates("orders", ["item_id", "number"]), [*rows, *gone]).columns == ("number",)


def test_table_without_a_key_is_asked_about() -> None:
    key = key_by_data(Candidates("things", ["at"]), [change("r", {"at": 1}), change("r", {"at": 1})])
    question = "has the table a key? Say `key: [column, ...]`, or `key: []` if it has none."
    assert (key.columns, key.question) == ((), question)


def test_swap_of_keys_is_no_second_row() -> None:
    swap = [
        *(change("r", {"seat": seat, "who": who}, 1) for seat, who in ((1, "a"), (2, "b"))),
        change("d", {"seat": 1, "who": "a"}, 2),
        change("c", {"seat": 2, "who": "a"}, 2),
        change("d", {"seat": 2, "who": "b"}, 2),
        change("c", {"seat": 1, "who": "b"}, 2),
    ]
    assert found(swap, "seat", "who") == ("seat",)
    assert found([*swap, change("c", {"seat": 1, "who": "a"}, 3)], "seat", "who") == ("seat", "who")


def test_truncate_frees_the_keys() -> None:
    rows = [change("c", {"id": 1}, 1), RowChange("t", None, None), change("c", {"id": 1}, 2)]
    assert found(rows, "id") == ("id",)


@pytest.mark.parametrize("deletes", [2, 3])
def test_images_of_deletes_show_the_whole_key(deletes: int) -> None:
    # The number alone is unique by chance; PostgreSQL's deletes bring the key, and nothing or a zero elsewhere.
    rows = [change("r", {"region": f"r{no % 2}", "no": no, "note": "n", "is_open": no % 2 == 0}) for no in range(4)]
    gone = [
        change("d", {"region": f"r{no % 2}", "no": no, "note": None, "is_open": False}, no + 1) for no in range(deletes)
    ]
    key = key_by_data(Candidates("things", ["region", "no", "is_open"]), [*rows, *gone])
    assert key.columns == (("region", "no") if deletes == 3 else ())


def test_whole_images_of_deletes_say_nothing() -> None:
    rows = [change("r", {"id": number, "note": "n"}) for number in range(4)]
    gone = [change("d", {"id": number, "note": "n"}, number + 1) for number in range(4)]
    assert found([*rows, *gone], "id", "note") == ("id",)


def test_bare_rows_may_have_a_key_twice() -> None:
    rows: list[dict[str, Any]] = [{"city_id": 7, "address_id": number % 2, "note": number} for number in range(4)]
    key = key_of_rows(Candidates("address", ["city_id", "address_id", "note"]), rows)
    assert (key.columns, key.why) == ((), "its name; 4 rows have 2 values of it")
    assert (key.question or "").startswith("is the key address_id, or is it city_id? Bare rows do not say")
    key = key_of_rows(Candidates("address", ["city_id", "address_id"]), rows[:2])
    assert key == Key(("address_id",), "unique in 2 rows")
    assert key_of_rows(Candidates("address", ["note"]), rows).question == "which columns are the key?"


def test_key_that_an_update_changes_is_none() -> None:
    rows = [
        change("r", {"code": "x", "no": 1}),
        RowChange("u", {"code": "x", "no": 1}, {"code": "y", "no": 1}, 1),
    ]
    assert found(rows, "code", "no") == ("no",)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({"id": 1, "note": "a", "days": 3}, True),
        # A key alone: what may not be NULL has a zero, and the column's default.
        ({"id": 1, "note": "", "days": 5}, False),
        ({"id": 1, "note": None, "days": None}, False),
        # The files lack an update in between: no sign of either.
        ({"id": 1, "note": "b", "days": 3}, None),
        ({"id": 2, "note": "b", "days": 3}, None),
    ],
)
def test_image_of_a_delete_is_compared_with_its_row(image: dict[str, Any], expected: bool | None) -> None:
    changes = [change("c", {"id": 1, "note": "a", "days": 3}), change("d", image, 1)]
    assert before_images_of(changes, ["id"], is_flattened=True).are_full is expected


def test_image_of_a_delete_is_not_compared_with_the_row_that_a_swap_has_put_in_its_place() -> None:
    rows: list[dict[str, Any]] = [{"id": number, "note": f"row {number}", "days": 0} for number in (1, 2)]
    created = [change("c", row, number) for number, row in enumerate(rows)]
    swapped = [{**row, "id": 3 - row["id"], "days": 1} for row in rows]
    swap = [change(op, row, 7) for old, new in zip(rows, swapped, strict=True) for op, row in (("d", old), ("c", new))]
    assert before_images_of([*created, *swap], ["id"], is_flattened=False).are_full is True


def test_image_of_an_update_shows_it() -> None:
    row = {"id": 1, "note": "a"}
    assert before_images_of([RowChange("u", row, row)], ["id"], is_flattened=False).are_full is True
    assert before_images_of([RowChange("u", None, row)], ["id"], is_flattened=False).are_full is False
    assert before_images_of([RowChange("u", None, row)], ["id"], is_flattened=True).are_full is None


@pytest.mark.parametrize(
    "later",
    [
        RowChange("u", None, {"id": 1, "note": "b"}, 2),
        RowChange("d", {"id": 1, "note": None}, None, 2),
        RowChange("d", {"id": 1}, None, 2),
    ],
)
@pytest.mark.parametrize("is_earlier", [False, True])
def test_whole_images_beside_keys_alone_are_asked_about(later: RowChange, is_earlier: bool) -> None:
    created = change("c", {"id": 1, "note": "a"})
    whole = RowChange("u", {"id": 2, "note": "a"}, {"id": 2, "note": "b"}, 1)
    changes = [created, later, whole] if is_earlier else [created, whole, later]
    found = before_images_of(changes, ["id"], is_flattened=False)
    assert found.are_full is None
    assert (found.question or "").startswith("what is its REPLICA IDENTITY?")


def orders(op: str, count: int = 5, **same: Any) -> list[RowChange]:
    """Rows of different orders, each in a transaction of its own, unless they are of one snapshot."""
    rows = [{**same, "order_id": number} for number in range(count)]
    return [change(op, row, 7 if op == "r" else number) for number, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("entity", "changes", "expected", "question"),
    [
        ("orders", orders("c", customer_id=7), "order_id", None),
        ("orders", orders("r", customer_id=7), "order_id", None),
        (
            "orders",
            orders("u", customer_id=7),
            None,
            "is the key order_id, or is it customer_id? Nothing in the files could show",
        ),
        (
            "shipments",
            orders("u", customer_id=7),
            None,
            "is the key customer_id, or is it order_id? Nothing in the files could show",
        ),
        (
            "shipments",
            orders("c", customer_id=7),
            None,
            "is the key order_id alone, or together with customer_id?",
        ),
        ("shipments", orders("c", 101, customer_id=7), "order_id", None),
        ("shipments", orders("c"), None, "is the key order_id? It may be unique by chance in 5 rows"),
        ("shipments", orders("c", 20), "order_id", None),
        ("orders", orders("c", 1), "order_id", None),
        ("shipments", orders("c", 1), None, "Nothing in the files could show"),
    ],
)
def test_key_is_certain_where_rows_could_have_contradicted_it(
    entity: str, changes: list[RowChange], expected: str | None, question: str | None
) -> None:
    columns = ["customer_id", "order_id"] if "customer_id" in str(changes) else ["order_id"]
    key = key_by_data(Candidates(entity, columns), changes)
    assert key.columns == ((expected,) if expected else ())
    assert key.question is None if question is None else question in str(key.question)


@pytest.mark.parametrize(
    ("entity", "folders", "expected", "is_asked"),
    [
        ("orders", (), "order_id", False),
        ("customers", (), "customer_id", False),
        ("shipments", (), None, True),
        # Parted by customer, then by order: a customer has several.
        ("shipments", ("customer_id", "order_id"), "order_id", False),
    ],
)
def test_of_two_columns_that_are_unique_the_table_has_its_own(
    entity: str, folders: tuple[str, ...], expected: str | None, is_asked: bool
) -> None:
    rows = [{"customer_id": 10 + number, "order_id": number} for number in range(3)]
    changes = [change("c", row, number) for number, row in enumerate(rows)]
    for key in (
        key_by_data(Candidates(entity, ["customer_id", "order_id"], folders), changes),
        key_of_rows(Candidates(entity, ["customer_id", "order_id"], folders), rows),
    ):
        assert (key.columns, key.question is not None) == ((expected,) if expected else (), is_asked)


def test_rows_of_one_snapshot_have_its_position_and_not_their_times_in_common() -> None:
    sources = [{"file": "b.1", "pos": 4, "ts_ms": number} for number in range(2)]
    assert len({transaction_of("r", source) for source in sources}) == 1
    assert len({transaction_of("c", source) for source in sources}) == 2
    assert transaction_of("r", {"lsn": 100, "txId": None}) == ("100", "0")
    assert transaction_of("c", {}) is None
    hash(transaction_of("c", {"txId": [1]}))


def test_row_of_another_snapshot_tests_nothing() -> None:
    rows = [change("r", {"id": 1}, number) for number in range(3)]
    assert count_inserts(rows) == Inserts(3, 0)
    assert count_inserts([change("r", {"id": number}, 1) for number in range(3)]) == Inserts(3, 2)


@pytest.mark.parametrize(
    ("sent", "updates", "expected", "is_asked"),
    [
        # A zero and a false are what a column has that was not sent, and one value may be its default.
        ({"is_open": False}, 0, ("id",), False),
        ({"is_open": True}, 0, (), True),
        ({"is_open": True}, 10, ("id", "is_open"), False),
    ],
)
def test_default_in_deletes_is_no_column_of_the_key(
    sent: dict[str, Any], updates: int, expected: tuple[str, ...], is_asked: bool
) -> None:
    rows = [change("r", {"id": no, "note": "n", **sent}) for no in range(4)]
    touched = [change("u", {"id": 3, "note": f"n{no}", **sent}, no) for no in range(updates)]
    gone = [change("d", {"id": no, "note": None, **sent}, no + 1) for no in range(3)]
    key = key_by_data(Candidates("things", ["id", "is_open"]), [*rows, *touched, *gone])
    assert (key.columns, key.question is not None) == (expected, is_asked)
    changed = change("u", {"id": 3, "note": "n", "is_open": None}, 9)
    assert found([*rows, changed, *gone], "id", "is_open") == ("id",)


@pytest.mark.parametrize(("message_keys", "is_asked"), [(["a", "b", "a"], True), (["a", "b", "c"], False), ([], False)])
def test_fewer_message_keys_than_values_are_asked_about(message_keys: list[str], is_asked: bool) -> None:
    key = checked(Key(("id",), "unique"), message_keys, [{"id": number} for number in range(3)])
    assert (key.question is not None) == is_asked


@pytest.mark.parametrize(
    ("entity", "row"),
    [
        ("user_roles", {"user_id": 1, "role": "admin"}),
        ("order_lines", {"order_id": 1, "line": 1}),
        ("product_prices", {"product_id": 1, "currency": "EUR"}),
    ],
)
def test_key_of_another_table_is_asked_about(entity: str, row: dict[str, Any]) -> None:
    name, other = row
    changes = [change("r", {name: number, other: row[other]}) for number in range(3)]
    key = key_by_data(Candidates(entity, [name, other]), changes)

    assert key.columns == ()
    assert key.candidates[0] == (name,)


def stored(op: str, key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events of rows, or bare rows where there is no op, with a column as the key of their messages."""
    source = {"connector": "postgresql", "table": "orders"}
    records = []
    for offset, row in enumerate(rows):
        position = {**source, "lsn": 100 if op == "r" else offset}
        value = {"before": None, "after": row, "op": op, "source": position} if op else row
        metadata = {"partition": 0, "offset": offset}
        records.append({"key": {key: row[key]}, "value": value, "headers": {}, "metadata": metadata})
    return records


def inspected(folder: Path, records: list[dict[str, Any]]) -> Entity:
    path = folder / "s.public.orders" / "0" / "0000000000009.json"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return inspect(str(folder)).entities[0]


@pytest.mark.parametrize("op", ["r", "c", ""])
@pytest.mark.parametrize("is_unique", [True, False])
def test_message_keys_are_compared_with_the_rows(tmp_path: Path, op: str, is_unique: bool) -> None:
    rows = [{"order_id": number, "customer_id": number if is_unique else number % 3} for number in range(6)]
    key = inspected(tmp_path, stored(op, "customer_id", rows)).key
    if is_unique:
        assert (key.columns, key.question) == (("customer_id",), None)
    else:
        assert key.columns == ()
        assert "is the key customer_id, as the messages have it, or is it order_id?" in str(key.question)


def test_bare_row_that_comes_again_contradicts_no_message_key(tmp_path: Path) -> None:
    rows = [{"order_id": number % 3, "note": f"n{number}"} for number in range(6)]
    key = inspected(tmp_path, stored("", "order_id", rows)).key
    assert (key.columns, key.question) == (("order_id",), None)


def test_row_that_was_created_again_contradicts_no_message_key_where_deletes_are_dropped(tmp_path: Path) -> None:
    rows = [{"order_id": number % 3, "__op": "c", "__lsn": number} for number in range(6)]
    key = inspected(tmp_path, stored("", "order_id", rows)).key
    assert (key.columns, key.question) == (("order_id",), None)


def test_said_key_that_rows_share() -> None:
    rows = [change("r", {"id": number, "region": None}) for number in range(2)]
    assert not are_shared(rows, ["id", "region"], are_all=True), "a column of the key may be NULL"
    assert are_shared(rows, ["region"], are_all=True)
    unseen = [change("d", {"id": number}) for number in range(5)]
    assert not are_shared([*rows, *unseen], ["id"], are_all=True), "of rows from before the log"
    again = [change("c", {"id": 1}, number) for number in range(3)]
    assert are_shared(again, ["id"], are_all=True)
    assert not are_shared(again, ["id"], are_all=False), "a delete between them may not have been read"
    assert not are_shared([*again, RowChange("d", None, None)], ["id"], are_all=True)
    moved = RowChange("u", {"id": 1}, {"id": 2}, 9)
    assert are_shared([moved], ["id"], are_all=False)


def test_search_of_a_key_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [f"c{number}" for number in range(60)]
    # No set of four columns tells all rows apart, all of them together do.
    rows = [change("r", {name: number >> place & 1 for place, name in enumerate(columns)}) for number in range(64)]
    tried = count()
    monkeypatch.setattr("alluvium.inspection.keys.is_key", lambda *of: next(tried) >= 0 and is_key(*of))
    key = key_by_data(Candidates("things", columns), rows)
    assert (key.columns, key.why) == ((), "none of the sets that were tried of up to 4 columns is unique in 64 images")
    doubled = key_by_data(Candidates("things", columns), [*rows, rows[0]])
    assert doubled.why == "not even all columns without NULL are unique together in 65 images"
    assert next(tried) == 0, "to count values is enough"
    assert MAX_SETS == 1_000, "docs/guide/inspect.md says so"
    few = key_by_data(Candidates("things", columns[:6]), rows)
    assert few.why == "no set of up to 4 columns is unique in 64 images"
