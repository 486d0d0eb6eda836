"""What `make statements` and `make profile` find in dbt's log."""

from __future__ import annotations

import json
from collections import Counter

from benchmarks import profile
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
10:00:03.400001 [debug] [Thread-2 (]: On model.p.slv_shop__orders_state: create or replace temporary view a as
    -- All.
    select 1
10:00:03.500001 [debug] [Thread-2 (]: On model.p.slv_shop__orders_state: -- back compat for old kwarg name
  \n    merge into silver.x as target
10:00:04.000001 [debug] [Thread-1 (]: On test.p.unique_a: /* {"app": "dbt"} */
select count(*) from a"""


def test_statements_of_a_log() -> None:
    found = Counter((sent.kind, sent.verb) for sent in statements(LOG))
    assert found == {
        ("dbt's cache", "show table"): 1,
        ("hooks of the run", "set alluvium"): 1,
        ("change log", "select max(batch)"): 1,
        ("state", "describe extended"): 1,
        ("state", "create or replace temporary view"): 1,
        ("state", "merge into"): 1,
        ("test", "select count(*)"): 1,
    }
    lines = table([found, found + found], ["once", "twice"]).splitlines()
    assert lines[0].split() == ["once", "twice"]
    assert "change log                                                     1             2" in lines
    assert lines[-1].split() == ["all", "7", "14"]


def test_seconds_of_a_step() -> None:
    log = """\
23:59:59.000000 [debug] [MainThread]: On list_schemas: show databases
23:59:59.000000 [debug] [MainThread]: Opening a new connection, currently in state init
00:00:00.500000 [debug] [MainThread]: SQL status: OK in 1.5 seconds
00:00:01.000000 [debug] [MainThread]: On list_schemas: Close
00:00:02.000000 [debug] [Thread-1 (]: Began running node model.p.stg_shop__orders
00:00:02.000000 [debug] [Thread-1 (]: On model.p.stg_shop__orders: insert into silver.stg_shop__orders
select 1
00:00:05.000000 [debug] [Thread-1 (]: SQL status: OK in 3 seconds
00:00:06.000000 [debug] [Thread-1 (]: On model.p.stg_shop__orders: Close
00:00:07.000000 [debug] [MainThread]: Command end result"""
    midnight = 86400.0 * 20000
    at = 1000 * midnight + 86400_000
    events = [
        {"Event": "SparkListenerJobStart", "Job ID": 7, "Stage IDs": [1, 2], "Submission Time": at + 3000},
        {"Event": "SparkListenerTaskEnd", "Stage ID": 2, "Task Metrics": {"Executor CPU Time": 500_000_000}},
        {"Event": "SparkListenerJobEnd", "Job ID": 7, "Completion Time": at + 4500},
    ]
    found = profile.stages(
        list(statements(log)), profile.jobs(map(json.dumps, events)), midnight + 86395, midnight + 86408
    )
    assert {(stage.node, stage.verb, stage.seconds, stage.job_seconds, stage.cpu) for stage in found} == {
        ("start and parsing", "", 4.0, 0.0, 0.0),
        ("dbt's cache", "show databases", 2.0, 0.0, 0.0),
        ("change log", "insert into", 4.0, 1.5, 0.5),
        ("between statements", "", 3.0, 0.0, 0.0),
    }
    assert profile.table("cold", found).splitlines()[0].startswith("cold: 13.0 s ")
