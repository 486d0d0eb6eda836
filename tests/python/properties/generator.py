"""Random histories, and how their events are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .database import LONG, REJECT_REASONS, Arrivals, Command, Epoch, History, Reset, Table, Transaction, Values

IDS = 5
TRANSACTIONS = 7
# The content decides nothing; few different values make rows that look alike.
NAMES = (None, "ann", "bob", "")
BODIES = (None, "short", f"{LONG} one", f"{LONG} two", f"{LONG} three")
TAGS: tuple[list[str | None] | None, ...] = (None, [], ["short"], [f"{LONG} four"], [f"{LONG} five", None])
SIZES = (0, 1, 2, -3)
# Of a line whose position nobody knows, nobody knows whether a snapshot has it.
WITHOUT_POSITION = ("malformed_json", "unknown_shape", "missing_position")


@dataclass(frozen=True)
class Shape:
    """What histories may do.

    Attributes:
        table: what they are played in.
        rounds: of delivery.
        transactions: at most, in each epoch.
        ids: number of keys.
        loses: events may never be delivered at all.
    """

    table: Table
    rounds: int
    transactions: int = TRANSACTIONS
    ids: int = IDS
    loses: bool = False


def history(random: Random, shape: Shape, number: int) -> History:
    """A random history; the same for the same state of `random`, which Hypothesis can drive as well."""
    delivery = _Delivery(random, shape)
    epochs = []
    for index, reset in enumerate(shape.table.resets):
        if reset.kind == "truncate":
            delivery.living.clear()
        unseen: tuple[Command, ...] = ()
        if reset.kind == "snapshot" or (index == 0 and reset.kind == "interrupted"):
            unseen = tuple(_command(random, shape, delivery, index) for _ in range(random.randint(0, 4)))
            if index == 0:
                delivery.living = set(range(1, random.randint(1, shape.ids) + 1))
                unseen = tuple(Command("insert", id_, values=_values(random, whole=True)) for id_ in delivery.living)
        transactions = tuple(
            _transaction(random, shape, delivery, index) for _ in range(random.randint(0, shape.transactions))
        )
        snapshot_arrivals = tuple(delivery.rounds(index) for _ in range(3))
        epochs.append(Epoch(transactions, unseen, snapshot_arrivals))
    return History(number, tuple(epochs), delivery.mode)


class _Delivery:
    """In which rounds the events of one history arrive; `living` are the rows that it may have."""

    MODES = ("at once", "in order", "newest first", "shuffled", "again", "mostly in order")

    def __init__(self, random: Random, shape: Shape) -> None:
        self.random = random
        self.shape = shape
        self.mode = random.choice(self.MODES)
        self.round = random.randrange(shape.rounds)
        self.loses = shape.loses and random.random() < 0.5
        self.living: set[int] = set()

    def follow(self, kind: str, row: int, to: tuple[int, ...]) -> None:
        """Which rows there are, roughly: the table knows."""
        if kind == "insert":
            self.living.add(row)
        elif kind in ("delete", "move"):
            self.living.discard(row)
            self.living.update(to)

    def rounds(self, epoch: int) -> tuple[int, ...]:
        """One event's."""
        random, rounds = self.random, self.shape.rounds
        # From the first to the last, epoch by epoch.
        first, last = (edge * rounds // len(self.shape.table.resets) for edge in (epoch, epoch + 1))
        if self.mode == "at once":
            number = self.round
        else:
            self.round = max(self.round if self.round < max(last, 1) else first, first)
            number = self.round
            if random.random() < 0.2:
                self.round = min(self.round + 1, max(last - 1, first))
        if self.mode == "newest first":
            number = rounds - 1 - number
        if self.mode == "shuffled" or (self.mode == "mostly in order" and random.random() < 0.15):
            number = random.randrange(rounds)
        if self.loses and random.random() < 0.1:
            return ()
        again = random.random() < (0.4 if self.mode == "again" else 0.05)
        # The same round: twice in the files of one batch.
        return (number, *(random.randrange(rounds) for _ in range(random.randint(1, 2)))) if again else (number,)


def _transaction(random: Random, shape: Shape, delivery: _Delivery, epoch: int) -> Transaction:
    if shape.table.connector == "postgresql" and random.random() < 0.08:
        row = _id(random, shape)
        read_only = (1,) if row % 2 else ()
        return Transaction((Command("reread", row, read_only, arrivals=_arrivals(delivery, epoch, 1)),))
    commands = tuple(_command(random, shape, delivery, epoch) for _ in range(random.choice((1, 1, 1, 2, 3))))
    return Transaction(commands, random.random() < 0.25, random.random() < 0.2)


def _command(random: Random, shape: Shape, delivery: _Delivery, epoch: int) -> Command:
    kinds = ["insert", "insert", "insert", "update", "update", "update", "delete", "delete", "move"]
    if shape.table.checks_keys_late:
        kinds += ["rotate", "rotate", "replace"]
    row = _id(random, shape)
    # Mostly what the table does not refuse.
    if random.random() < 0.9:
        kinds = [kind for kind in kinds if (kind == "insert") != (row in delivery.living)]
    kind = "reject" if random.random() < 0.03 else random.choice(kinds)
    if kind == "reject":
        reasons = [
            reason
            for reason in REJECT_REASONS
            if reason not in WITHOUT_POSITION or all(reset.kind != "snapshot" for reset in shape.table.resets)
        ]
        values = {"reason": random.choice(reasons), "number": random.randrange(1_000_000)}
        return Command(kind, row, values=values, arrivals=(delivery.rounds(epoch),))
    to: tuple[int, ...] = ()
    if kind == "move":
        to = (_id(random, shape),)
    elif kind == "rotate":
        to = tuple(_id(random, shape) for _ in range(random.randint(1, 3)))
    elif kind == "replace" and random.random() < 0.3:
        to = (random.choice((1, 2, -1, -2, 0)),)
    values = {} if kind == "rotate" and random.random() < 0.5 else _values(random, whole=kind in ("insert", "replace"))
    if kind == "delete":
        values = {}
    delivery.follow(kind, row, to)
    return Command(kind, row, to, values, _arrivals(delivery, epoch, 4 if to else 1))


def _id(random: Random, shape: Shape) -> int:
    return random.randint(1, shape.ids)


def _arrivals(delivery: _Delivery, epoch: int, count: int) -> Arrivals:
    return tuple(delivery.rounds(epoch) for _ in range(count))


def _values(random: Random, *, whole: bool) -> Values:
    values: dict[str, Any] = {
        "name": random.choice(NAMES),
        "body": random.choice(BODIES),
        "tags": random.choice(TAGS),
        "size": random.choice(SIZES),
    }
    return values if whole else {name: value for name, value in values.items() if random.random() < 0.4}


def histories(seed: int, shape: Shape, count: int) -> list[History]:
    """As many histories, each from a seed of its own."""
    return [history(Random(f"{seed}/{number}"), shape, number) for number in range(1, count + 1)]


def resets(random: Random, kinds: Sequence[str], rounds: int) -> tuple[Reset, ...]:
    """Resets of these kinds, each delivered in a random round, some of them twice."""
    return tuple(
        Reset(kind, tuple(random.randrange(rounds) for _ in range(random.choice((1, 1, 2))))) for kind in kinds
    )
