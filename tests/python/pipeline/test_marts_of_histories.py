"""A mart of what rows were and are (agg_rental_sales_by_window), in runs that find its tables in different stages."""

from __future__ import annotations

from typing import Any

import pytest

from .events import lines, postgresql
from .project import SILVER, Feed, MakeProject

MART = "agg_paid"
SQL = """{{ incremental_mart("country", delete_where="orders = 0") }}
with changed_payments as (
    {{ changed_keys(ref("slv_pipe__paid_history"), ["id"]) }}
),
sent as (
    select distinct versions.country
    from {{ ref("slv_pipe__paid_history") }} as versions
    inner join changed_payments on versions.id = changed_payments.id
)
select sent.country, count(payments.id) as orders
from sent
left join (
    select * from {{ ref("slv_pipe__paid_history") }} where _is_current
) as payments on sent.country = payments.country
group by sent.country
"""
FEED = Feed("paid", {"id": "int", "country": "string"}, models=("log", "state", "living", "history"))


def paid(op: str, lsn: int, key: int, country: str) -> dict[str, Any]:
    return postgresql(op, lsn, {"id": key, "country": country})


@pytest.mark.slow
def test_mart_follows_the_history_alone(make_project: MakeProject) -> None:
    project = make_project("paid", [FEED])
    (project.folder / "models" / "silver" / f"{MART}.sql").write_text(SQL, encoding="utf-8")

    def orders() -> dict[str, int]:
        return {found["country"]: found["orders"] for found in project.rows(f"{SILVER}.{MART}")}

    project.land(FEED, {"t+0+0.json": lines(paid("c", 10, 1, "NL"))})
    assert not project.dbt("build").failed
    project.land(FEED, {"t+0+1.json": lines(paid("c", 20, 2, "FR"), paid("u", 30, 1, "DE"))})
    # What `--select stg_pipe__paid slv_pipe__paid_state+` runs: the state is ahead of the history.
    outcome = project.dbt("build", "--select", *(FEED.nodes[role] for role in ("log", "state", "living")), MART)
    assert not outcome.failed, outcome.messages
    assert orders() == {"NL": 1}
    assert not project.dbt("build").failed
    assert orders() == {"DE": 1, "FR": 1}
    project.land(FEED, {"t+0+3.json": lines(paid("d", 40, 2, "FR"))})
    assert not project.dbt("build").failed
    assert orders() == {"DE": 1}
    assert not project.dbt("build", "--full-refresh", "--select", MART).failed
    assert orders() == {"DE": 1}
