from __future__ import annotations

import pytest

from alluvium.inspection.key_names import inner_columns, is_named_like_key, is_own_key


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("id", "ID", "order_id", "orderId", "CUST_ID", "Order No", "row-key", "sku")),
        *((name, False) for name in ("paid", "valid", "void", "bid", "no", "note", "", "_")),
    ],
)
def test_name_like_a_key_ends_in_a_word(name: str, expected: bool) -> None:
    assert is_named_like_key(name) is expected


OF_OTHER_TABLES = (
    ("user_id", "user_roles"),
    ("order_id", "OrderLines"),
    ("customer_id", "customer_versions"),
    ("account_id", "accounts_audit"),
    ("cust_id", "customer_orders"),
)


@pytest.mark.parametrize(
    ("name", "entity", "others", "expected"),
    [
        ("id", "anything", ("order_id",), True),
        ("order_id", "orders", ("customer_id",), True),
        ("orderid", "Orders", (), True),
        ("address_id", "addresses", (), True),
        ("city_id", "cities", (), True),
        ("order_line_id", "OrderLines", ("order_id",), True),
        ("order_id", "order_lines", ("line_no",), False),
        ("customer_id", "orders", (), False),
        ("CUST_ID", "CUSTOMER", (), True),
        ("user_id", "userroles", ("role_id",), False),
        # Where the table's name goes on with another word, it is the key of another table.
        *((name, entity, (), False) for name, entity in OF_OTHER_TABLES),
        ("order_li_id", "order_lines", (), True),
        ("ORD_ID", "orders_2024", (), True),
        ("paid", "payments", (), False),
    ],
)
def test_key_that_is_called_after_its_table(name: str, entity: str, others: tuple[str, ...], expected: bool) -> None:
    assert is_own_key(name, entity, others) is expected


def test_column_of_an_outer_folder_is_no_key_beside_the_inner_one() -> None:
    assert inner_columns(["a", "b", "c"], ["b", "day", "a"]) == ["a", "c"]
    assert inner_columns(["a", "c"], ["b", "a"]) == ["a", "c"]
