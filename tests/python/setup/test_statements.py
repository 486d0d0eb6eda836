"""What `make statements` counts in dbt's log."""

from __future__ import annotations

from collections import Counter

from benchmarks.statements import statements, table

LOG = """\
\x1b[0m10:00:00.000001 [info ] [MainThread]: Running with dbt=1.11.16
10:00:01.000001 [debug] [ThreadPool]: On list_None_silver: /* {"app": "dbt"} */
show table extended in silver like '*'

10:00:02.000001 [debug] [MainThread]: On master: /* {"app": "dbt"} */
    set  alluvium.is_shared

10:00:03.000001 [debug] [Thread-1 (]: On model.p.stg_shop__orders: /* {"app": "dbt"} */
    select max(batch) as batch
    from silver.cdc_file_ledger
  \n10:00:03.100001 [debug] [Thread-1 (]: SQL status: OK in 0.1 seconds
10:00:03.200001 [debug] [Thread-1 (]: On model.p.stg_shop__orders: Close
10:00:03.200001 [debug] [Thread-2 (]: On model.p.slv_shop__orders_state: Describe extended silver.x
10:00:03.300001 [debug] [Thread-2 (]: On model.p.slv_shop__orders_state: ROLLBACK
10:00:04.000001 [debug] [Thread-1 (]: On test.p.unique_a: /* {"app": "dbt"} */
select count(*) from a"""


def test_statements_of_a_log() -> None:
    found = Counter((sent.kind, sent.verb) for sent in statements(LOG))
    assert found == {
        ("dbt's cache", "show table"): 1,
        ("hooks of the run", "set alluvium"): 1,
        ("change log", "select max(batch)"): 1,
        ("state", "describe extended"): 1,
        ("test", "select count(*)"): 1,
    }
    lines = table([found, found + found], ["once", "twice"]).splitlines()
    assert lines[0].split() == ["once", "twice"]
    assert "change log                                                     1             2" in lines
    assert lines[-1].split() == ["all", "5", "10"]
