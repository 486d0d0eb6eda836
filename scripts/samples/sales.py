"""Pagila's payments as a stream of sales: Avro with a schema registry, landed with their keys by the Confluent sink.

The stream has the pace of the document that the source is from: its printed windows say between which rows of the file
each five minutes ended (`MINUTES`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Final

from scripts.samples import data as source_data
from scripts.samples import expected
from scripts.samples.connect import EPOCH, Row, Schema, struct
from scripts.samples.sinks import Files, Record, confluent, copied

TOPIC: Final = "pagila.sales.avro"
FLUSH_SIZE: Final = 300
KEY: Final = Schema("int32")
VALUE: Final = struct(
    "Value",
    {
        "payment_id": Schema("int32"),
        "customer_id": Schema("int32"),
        "amount": Schema("float32"),
        # The registry's schema says timestamp-millis beside the type, where nobody reads it; the numbers are seconds.
        "payment_date": Schema("int64"),
        "city": Schema("string", optional=True),
        "district": Schema("string", optional=True),
        "country": Schema("string"),
    },
)
UNASSIGNED: Final = "Unassigned"
WINDOW: Final = timedelta(minutes=10)
SLIDE: Final = timedelta(minutes=5)

# Row of the large file -> when the stream had come so far. The printed windows of 22:20, 22:25 and 22:30 have 635, 636
# and 553 rows, which with their figures fits rows 612 to 1246, 928 to 1563 and 1247 to the last. Before and after them
# it is the pace between.
MINUTES: Final = {
    0: datetime(2021, 10, 3, 22, 10, 20, tzinfo=timezone.utc),
    612: datetime(2021, 10, 3, 22, 20, tzinfo=timezone.utc),
    928: datetime(2021, 10, 3, 22, 25, tzinfo=timezone.utc),
    1247: datetime(2021, 10, 3, 22, 30, tzinfo=timezone.utc),
    1564: datetime(2021, 10, 3, 22, 35, tzinfo=timezone.utc),
    1800: datetime(2021, 10, 3, 22, 38, 43, tzinfo=timezone.utc),
}
SEED_SENT: Final = datetime(2021, 10, 3, 21, 45, tzinfo=timezone.utc)
SMALL_SENT: Final = datetime(2021, 10, 3, 21, 57, tzinfo=timezone.utc)
# One in so many rows of the printed windows comes only when they are closed.
LATE: Final = 40


def files(data: Path) -> Mapping[str, bytes]:
    """The files of the four loads, and what the marts have after each; `data` has the folder sales."""
    regions = {row["country"]: row["region"] for row in source_data.rows(data / "sales" / "sales_regions.csv")}
    made: Files = {}
    payments: dict[int, Row] = {}
    offset = 0
    for number, (name, sales) in enumerate(loads(data).items(), start=1):
        load = f"{number}-{name}"
        made |= copied(_landed(sales, offset), load)
        offset += len(sales)
        payments |= {sale["payment_id"]: sale for sale in sales}
        content: dict[str, Sequence[Row]] = {
            "agg_rental_sales_by_region": _by_region(payments.values(), regions),
            "agg_rental_sales_by_window": _by_window(payments.values(), regions),
        }
        if number == 1:
            content["slv_sales__payments"] = [payments[key] for key in sorted(payments)]
        made |= {f"expected/{load}/{relation}.jsonl": expected.lines(rows) for relation, rows in content.items()}
    return made


def loads(data: Path) -> dict[str, list[Row]]:
    """The messages of each load, in the order in which they came."""
    seed, small, large = (
        list(source_data.rows(data / "sales" / f"sales_{name}.csv", delimiter="|"))
        for name in ("seed", "incremental_small", "incremental_large")
    )
    stream = [_sale(row, _streamed(number)) for number, row in enumerate(large)]
    printed = range(612, len(large), LATE)
    return {
        "seed": [_sale(row, SEED_SENT + timedelta(seconds=number // 100)) for number, row in enumerate(seed)],
        "small": [_sale(row, SMALL_SENT + timedelta(seconds=number // 100)) for number, row in enumerate(small)],
        "large": [sale for number, sale in enumerate(stream) if number not in printed],
        "late": [stream[number] for number in printed],
    }


def _streamed(number: int) -> datetime:
    """When a row was sent: at an even pace between two times that are known."""
    spans = list(pairwise(MINUTES.items()))
    (first, begin), (last, end) = spans[bisect_right(list(MINUTES)[1:-1], number)]
    return begin + timedelta(seconds=(number - first) * int((end - begin).total_seconds()) // (last - first))


def _sale(row: Mapping[str, str], sent: datetime) -> Row:
    """The script that sends the rows puts the time of sending in the place of the payment's own."""
    return {
        "payment_id": int(row["payment_id"]),
        "customer_id": int(row["customer_id"]),
        "amount": float(row["amount"]),
        "payment_date": int((sent - EPOCH).total_seconds()),
        "city": row["city"] or None,
        "district": row["district"] or None,
        "country": row["country"],
    }


def _landed(sales: Sequence[Row], offset: int) -> Files:
    """The values, and beside each file the keys of its messages (`store.kafka.keys=true`): the customer's number."""
    values = [Record(offset + number, sale, VALUE) for number, sale in enumerate(sales)]
    keys = [Record(record.offset, record.value["customer_id"], KEY) for record in values]
    written = confluent(TOPIC, values, "avro", FLUSH_SIZE)
    return written | {
        f"{path.removesuffix('.avro')}.keys.avro": content
        for path, content in confluent(TOPIC, keys, "avro", FLUSH_SIZE).items()
    }


def _by_region(payments: Iterable[Row], regions: Mapping[str, str]) -> list[dict[str, str]]:
    totals: dict[str, list[Decimal]] = defaultdict(list)
    for payment in payments:
        totals[regions.get(payment["country"], UNASSIGNED)].append(_amount(payment))
    return [
        {"region": region, "orders": str(len(amounts)), "sales": str(sum(amounts))}
        for region, amounts in sorted(totals.items())
    ]


def _by_window(payments: Iterable[Row], regions: Mapping[str, str]) -> list[dict[str, str]]:
    """Each payment is in two windows."""
    totals: dict[tuple[datetime, str], list[Decimal]] = defaultdict(list)
    for payment in payments:
        sent = EPOCH + timedelta(seconds=payment["payment_date"])
        newest = sent - (sent - EPOCH) % SLIDE
        for start in (newest, newest - SLIDE):
            totals[start, regions.get(payment["country"], UNASSIGNED)].append(_amount(payment))
    return [
        {
            "region": region,
            "window_start": f"{start:%Y-%m-%d %H:%M:%S}",
            "window_end": f"{start + WINDOW:%Y-%m-%d %H:%M:%S}",
            "orders": str(len(amounts)),
            "sales": str(sum(amounts)),
        }
        for (start, region), amounts in sorted(totals.items())
    ]


def _amount(payment: Row) -> Decimal:
    return Decimal(str(payment["amount"]))
