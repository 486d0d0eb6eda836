"""When the next build begins, and when there is none."""

from __future__ import annotations

import os
import re
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError

if TYPE_CHECKING:
    from typing_extensions import Self

    from .outcome import Outcome

SECONDS = {"s": 1, "m": 60, "h": 3600}
NOTICE = "{}: the running build is completed first; a second signal stops it.\n"


def seconds_of(interval: str) -> int:
    """The seconds of an interval such as ``30s``, ``5m``, ``1h`` or ``0``.

    Raises:
        AlluviumError: it is no such interval.
    """
    match = re.fullmatch(r"(\d{1,6})([smh])|0", interval, re.ASCII)
    if match is None:
        raise AlluviumError(
            f"--every is {interval!r}; allowed: a whole number with s, m or h (30s, 5m, 1h), or 0 for no pause."
        )
    return int(match[1]) * SECONDS[match[2]] if match[1] else 0


class Signals:
    """SIGINT and SIGTERM while this context lasts: the first one asks for the end, the second one enforces it.

    Attributes:
        is_building: whether a build runs, which the first signal lets complete.
        were_received: whether the end was asked for.
    """

    def __init__(self) -> None:
        self.is_building = False
        self.were_received = False
        self._stop: Any = signal.default_int_handler

    def __enter__(self) -> Self:
        # A pipe ends a wait from within a handler; the lock of threading.Event may be held where that interrupts.
        self._waiting, self._received = os.pipe()
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._waiting)
        os.close(self._received)

    def keep(self, _event: object = None) -> None:
        """Take SIGINT back from PySpark (3.5.7), which takes it when it starts; the second signal is for PySpark.

        Called for each event of dbt, some of which come from other threads.
        """
        if threading.current_thread() is threading.main_thread():
            current = signal.getsignal(signal.SIGINT)
            if current != self._handle:
                self._stop = current
                signal.signal(signal.SIGINT, self._handle)

    def wait(self, seconds: float) -> bool:
        """Wait, at most until a signal comes; returns whether one has."""
        select.select([self._waiting], [], [], max(0.0, seconds))
        return self.were_received

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.were_received and self.is_building:
            self._stop(signal.SIGINT, frame)
            return
        self.were_received = True
        os.write(self._received, b".")
        if self.is_building:
            # Not print: the handler may have interrupted one.
            os.write(2, NOTICE.format(signal.Signals(number).name).encode())


def repeat(
    build: Callable[[], Outcome],
    report: Callable[[int, Outcome, int, float, float | None], None],
    check: Callable[[], None],
    signals: Signals,
    *,
    every: float,
    builds: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Build until a signal comes; returns whether the last build has passed.

    Args:
        build: one build.
        report: called after each with its number, what came of it, how many have failed in a row, its seconds, and
            those until the next one: None after the last.
        check: called before and after each; raises where no other build may begin.
        signals: ends the wait.
        every: seconds from the beginning of one build to that of the next; one that takes longer is followed at once.
        builds: how many; without limit when None.
        clock: in seconds.
    """
    number = failed_in_a_row = 0
    while True:
        check()
        begin = clock()
        number += 1
        signals.is_building = True
        outcome = build()
        signals.is_building = False
        failed_in_a_row = 0 if outcome.has_passed else failed_in_a_row + 1
        seconds = clock() - begin
        is_last = number == builds or signals.were_received
        pause = None if is_last else max(0.0, every - seconds)
        report(number, outcome, failed_in_a_row, seconds, pause)
        if pause is None:
            return outcome.has_passed
        check()
        if signals.wait(pause):
            return outcome.has_passed
