"""The files that the events of many histories are delivered in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pipeline.events import lines
from pipeline.project import Files

from .database import Record

PARTITIONS = 2
FILES = 3


def in_rounds(records: Sequence[Record], rounds: int, seed: int, *, copies: bool = False) -> list[Files]:
    """Each record in the rounds that it says, in random order in some files.

    Args:
        records: what is delivered.
        rounds: number of rounds.
        seed: of the order.
        copies: whether each round but the first repeats a whole file of an earlier one, under another name.
    """
    random = Random(seed)
    landed: list[Files] = []
    delivered: list[tuple[str, bytes]] = []
    for number in range(rounds):
        arriving = [record for record in records for arrival in record.arrivals if arrival == number]
        random.shuffle(arriving)
        files: dict[str, bytes] = {}
        for index in range(FILES):
            if part := arriving[index::FILES]:
                name = f"t+{random.randrange(PARTITIONS)}+{random.randrange(10**6)}{number}{index}.json"
                files[name] = lines(*(record.event for record in part))
        fresh = dict(files)
        if copies and delivered:
            name, content = random.choice(delivered)
            files[f"copy_{number}/{name}"] = content
        delivered += list(fresh.items())
        landed.append(files)
    return landed


def at_once(records: Sequence[Record], order: Callable[[Record], object]) -> list[Files]:
    """Each record that is delivered at all once, in one file and in the order of the commits."""
    delivered = sorted((record for record in records if record.arrivals), key=order)  # type: ignore[arg-type]  # callers give keys that sort
    return [{"t+0+0.json": lines(*(record.event for record in delivered))}]
