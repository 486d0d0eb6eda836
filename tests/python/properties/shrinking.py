"""Makes a failing history small: many smaller ones are tried in one run of the project, each on rows of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from .database import Command, Epoch, History

CANDIDATES = 150
# Returns the numbers of the histories that fail when they are played together.
Failing = Callable[[Sequence[History]], set[int]]


@dataclass(frozen=True)
class Shrunk:
    """The smallest history that was found to fail.

    Attributes:
        history: it.
        runs: how often the project was built.
        is_minimal: nothing can be left out of it. False where the runs were not enough.
    """

    history: History
    runs: int
    is_minimal: bool


def shrink(history: History, failing: Failing, *, runs: int = 12, seed: int = 0) -> Shrunk | None:
    """Leaves out of a failing history what can be left out.

    Args:
        history: fails among others.
        failing: builds the project with some histories.
        runs: how often it may.
        seed: of the combinations that are tried.

    Returns:
        None where the history does not fail alone.
    """
    random = Random(seed)
    for run in range(runs):
        tried = [history, *_candidates(history, random)]
        numbered = [replace(candidate, number=number) for number, candidate in enumerate(tried, 1)]
        failed = failing(numbered)
        if run == 0 and 1 not in failed:
            return None
        smaller = [tried[number - 1] for number in failed if 1 < number <= len(tried)]
        if not smaller:
            return Shrunk(history, run + 1, is_minimal=True)
        history = min(smaller, key=size)
    return Shrunk(history, runs, is_minimal=False)


def size(history: History) -> tuple[int, ...]:
    """What is less is simpler: statements first, then what they set, then how they are delivered."""
    commands = [command for epoch in history.epochs for part in _parts(epoch) for command in part]
    transactions = [transaction for epoch in history.epochs for transaction in epoch.transactions]
    arrivals = [rounds for command in commands for rounds in command.arrivals]
    arrivals += [rounds for epoch in history.epochs for rounds in epoch.snapshot_arrivals]
    return (
        len(commands),
        len(transactions),
        sum(transaction.is_open_before + transaction.is_of_reset for transaction in transactions),
        sum(len(command.values) + len(command.to) for command in commands),
        sum(len(rounds) for rounds in arrivals),
        len(arrivals),
        sum(sum(rounds) for rounds in arrivals),
    )


def _parts(epoch: Epoch) -> Iterator[tuple[Command, ...]]:
    yield epoch.unseen
    for transaction in epoch.transactions:
        yield transaction.commands


def _candidates(history: History, random: Random) -> list[History]:
    """Each single step, and random combinations of them: one of these is often far smaller."""
    single = list(dict.fromkeys(_steps(history)))
    steps = random.sample(single, min(len(single), CANDIDATES))
    found = [_without(history, [step]) for step in steps]
    for _ in range(CANDIDATES):
        share = random.choice((0.1, 0.25, 0.5, 0.75))
        found.append(_without(history, [step for step in single if random.random() < share]))
    distinct = {repr(candidate): candidate for candidate in found if size(candidate) < size(history)}
    return list(distinct.values())


@dataclass(frozen=True)
class _Step:
    """One simplification: of an epoch's transaction (-1: of its unseen statements), of its statement."""

    kind: str
    epoch: int
    transaction: int = -1
    command: int = -1
    detail: object = None


def _steps(history: History) -> Iterator[_Step]:
    for number, epoch in enumerate(history.epochs):
        yield _Step("epoch", number)
        yield _Step("snapshot_arrivals", number)
        for index, part in enumerate(_parts(epoch), -1):
            yield _Step("transaction", number, index)
            if index >= 0:
                yield _Step("flags", number, index)
            for place, command in enumerate(part):
                yield _Step("command", number, index, place)
                for name in command.values:
                    if command.kind != "reject":
                        yield _Step("value", number, index, place, name)
                for rounds in range(len(command.arrivals)):
                    yield _Step("arrivals", number, index, place, rounds)
                yield _Step("one_arrival", number, index, place)


def _without(history: History, steps: Sequence[_Step]) -> History:
    chosen = set(steps)
    epochs = []
    for number, epoch in enumerate(history.epochs):
        if _Step("epoch", number) in chosen:
            epochs.append(Epoch())
            continue
        transactions = []
        for index, transaction in enumerate(epoch.transactions):
            if _Step("transaction", number, index) in chosen:
                continue
            if commands := _commands(transaction.commands, number, index, chosen):
                flags = (
                    {"is_open_before": False, "is_of_reset": False} if _Step("flags", number, index) in chosen else {}
                )
                transactions.append(replace(transaction, commands=commands, **flags))
        unseen = () if _Step("transaction", number, -1) in chosen else _commands(epoch.unseen, number, -1, chosen)
        arrivals = ((0,),) if _Step("snapshot_arrivals", number) in chosen else epoch.snapshot_arrivals
        epochs.append(Epoch(tuple(transactions), unseen, arrivals))
    return replace(history, epochs=tuple(epochs))


def _commands(commands: Sequence[Command], epoch: int, index: int, chosen: set[_Step]) -> tuple[Command, ...]:
    kept = []
    for place, command in enumerate(commands):
        if _Step("command", epoch, index, place) in chosen:
            continue
        values = {
            name: value
            for name, value in command.values.items()
            if _Step("value", epoch, index, place, name) not in chosen
        }
        arrivals = tuple(
            (rounds[:1] if len(rounds) > 1 else (0,))
            if _Step("arrivals", epoch, index, place, number) in chosen
            else rounds
            for number, rounds in enumerate(command.arrivals)
        )
        if _Step("one_arrival", epoch, index, place) in chosen:
            arrivals = arrivals[:1]
        kept.append(replace(command, values=values, arrivals=arrivals))
    return tuple(kept)


def _fewer(rounds: tuple[int, ...]) -> tuple[int, ...]:
    """Once, and then in the first round."""
    return rounds[:1] if len(rounds) > 1 else (0,)
