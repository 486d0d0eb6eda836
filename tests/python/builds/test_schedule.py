"""When builds begin and end, with a clock that only the test moves."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence

import pytest

from alluvium import AlluviumError
from alluvium.builds.outcome import Outcome
from alluvium.builds.schedule import Signals, repeat, seconds_of

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("0s", 0), ("30s", 30), ("5m", 300), ("1h", 3600)])
def test_intervals(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5x", "-5m", "1.5h", "5 m", "5m\n", "\u0665m", "1234567s"])
def test_other_intervals_are_named_with_what_is_allowed(text: str) -> None:
    with pytest.raises(AlluviumError) as raised:
        seconds_of(text)
    assert repr(text) in str(raised.value)
    assert "allowed" in str(raised.value)


class Waits(Signals):
    """Signals that never come, or after some waits; a wait moves the clock."""

    def __init__(self, ends_at: int | None = None) -> None:
        super().__init__()
        self.now = 1000.0
        self.waits: list[float] = []
        self.ends_at = ends_at

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return len(self.waits) == self.ends_at


def starts(durations: Sequence[float], every: float, waits: Waits | None = None) -> list[float]:
    """When builds of these durations begin."""
    waits = waits or Waits()
    begun: list[float] = []

    def build() -> Outcome:
        begun.append(waits.now - 1000)
        waits.now += durations[len(begun) - 1]
        return Outcome(True)

    repeat(build, lambda *_: None, lambda: None, waits, every=every, builds=len(durations), clock=lambda: waits.now)
    return begun


def test_interval_counts_from_start_to_start() -> None:
    assert starts([10, 20, 30], 60) == [0, 60, 120]


def test_long_build_is_followed_at_once_and_by_one_only() -> None:
    assert starts([200, 10, 10], 60) == [0, 200, 260]


def test_no_pause() -> None:
    assert starts([5, 5, 5], 0) == [0, 5, 10]


def test_signal_while_waiting_ends_at_once() -> None:
    assert starts([10, 10, 10], 60, Waits(ends_at=2)) == [0, 60]


def test_failed_builds_are_counted_and_end_nothing() -> None:
    outcomes = [Outcome(passed) for passed in (True, False, False, True, False)]
    counts: list[int] = []
    left = iter(outcomes)
    has_passed = repeat(
        lambda: next(left),
        lambda _number, _outcome, failed, _seconds, _pause: counts.append(failed),
        lambda: None,
        Waits(),
        every=0,
        builds=len(outcomes),
    )
    assert counts == [0, 1, 2, 0, 1]
    assert not has_passed


def test_last_build_has_no_next() -> None:
    pauses: list[float | None] = []
    repeat(
        lambda: Outcome(True),
        lambda *told: pauses.append(told[-1]),
        lambda: None,
        Waits(),
        every=60,
        builds=2,
        clock=lambda: 0,
    )
    assert pauses == [60, None]


def test_check_ends_it_after_the_report() -> None:
    done: list[str] = []

    def check() -> None:
        if "report" in done:
            raise AlluviumError("lost")

    with pytest.raises(AlluviumError, match="lost"):
        repeat(lambda: Outcome(True), lambda *_: done.append("report"), check, Waits(), every=0)
    assert done == ["report"]


@pytest.fixture
def signals() -> Iterator[Signals]:
    before = {number: signal.getsignal(number) for number in NUMBERS}
    with Signals() as entered:
        yield entered
    assert {number: signal.getsignal(number) for number in NUMBERS} == before


def run(signals: Signals, build: Callable[[], None]) -> bool:
    """Builds that pass unless `build` says otherwise, without pause."""

    def built() -> Outcome:
        try:
            build()
        except KeyboardInterrupt:
            return Outcome(False)
        return Outcome(True)

    return repeat(built, lambda *_: None, lambda: None, signals, every=0, builds=3)


@pytest.mark.parametrize("number", NUMBERS)
def test_first_signal_lets_the_build_complete_and_says_so(
    signals: Signals, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    done = []

    def build() -> None:
        os.kill(os.getpid(), number)
        done.append("to its end")

    assert run(signals, build)
    assert done == ["to its end"]
    assert capfd.readouterr().err == f"{number.name}: the running build is completed first; a second signal stops it.\n"


@pytest.mark.parametrize("number", NUMBERS)
def test_second_signal_stops_the_build(signals: Signals, number: signal.Signals) -> None:
    done = []

    def build() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        done.append("half")
        os.kill(os.getpid(), number)
        done.append("to its end")

    assert not run(signals, build)
    assert done == ["half"]


@pytest.mark.parametrize("number", NUMBERS)
def test_real_signal_ends_a_real_wait(signals: Signals, number: signal.Signals) -> None:
    assert not signals.wait(0)
    os.kill(os.getpid(), number)
    assert signals.wait(3600)


def test_sigint_is_taken_back_and_the_second_one_is_for_who_had_it(signals: Signals) -> None:
    """As of PySpark, which cancels its jobs when it gets one."""
    got = []
    signal.signal(signal.SIGINT, lambda *_: got.append("theirs"))
    signals.keep()
    signals.is_building = True
    os.kill(os.getpid(), signal.SIGINT)
    assert (signals.were_received, got) == (True, [])
    os.kill(os.getpid(), signal.SIGINT)
    assert got == ["theirs"]
