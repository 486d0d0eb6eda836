"""Starts the process of a system, sends it commands, and measures what each costs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks import measure
from benchmarks.generator import ENTITY, Shape
from benchmarks.oracle import Digest, Oracle
from benchmarks.project import REPOSITORY
from benchmarks.systems import WITHOUT_SPARK, system
from benchmarks.systems.base import WAREHOUSE

# `make` puts it there from requirements-bench.lock.
BENCH_PYTHON = REPOSITORY / ".venv-bench" / "bin" / "python"
WARM_UP = "warm_up"


class SystemFailedError(Exception):
    """A system failed or took too long; the message says which and how."""


@dataclass
class Cost:
    """What a command cost.

    Attributes:
        seconds: of wall time.
        cpu_seconds: of the process and all its children.
        peak_memory: most resident memory of the process and all its children, in bytes.
        bytes_written: to the system's tables.
        answer: what the command returned.
    """

    seconds: float
    cpu_seconds: float
    peak_memory: int
    bytes_written: int
    answer: dict[str, Any]


class SystemProcess:
    """A system in a process of its own.

    Args:
        name: of the system.
        home: folder for what it writes.
        locations: folders that files land in, and the shape of the data, by name of the table.
        memory: of the driver, as Spark writes it, such as ``4g``.
        timeout: seconds that a command may take.
    """

    def __init__(
        self,
        name: str,
        home: Path,
        locations: dict[str, tuple[Path, Shape]],
        memory: str | None = None,
        timeout: float = 3600,
    ) -> None:
        self.name, self.home, self.timeout = name, home, timeout
        home.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"ALLUVIUM_HOME": str(home)}
        environment |= {"ALLUVIUM_DRIVER_MEMORY": memory} if memory else {}
        python = Path(sys.executable)
        if name in WITHOUT_SPARK:
            python = BENCH_PYTHON
        else:
            environment |= system(name).environment
        if not python.exists():
            raise SystemFailedError(f"{name} needs the environment .venv-bench: run `make setup-bench`")
        tables = {
            entity: {"location": str(location), "shape": asdict(shape)}
            for entity, (location, shape) in locations.items()
        }
        specification = json.dumps({"system": name, "home": str(home), "tables": tables})
        self._answers, write_end = os.pipe()
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.worker", specification, str(write_end)],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[write_end],
            text=True,
        )
        os.close(write_end)
        self._received = b""

    def __enter__(self) -> SystemProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def send(self, command: str, *arguments: str, entity: str = ENTITY) -> dict[str, Any]:
        """The answer to a command.

        Args:
            command: a method of `System`, or `start`.
            arguments: of the method.
            entity: name of the table.

        Raises:
            SystemFailedError: the command failed, or the process has ended or takes too long.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([command, entity, *arguments]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SystemFailedError(f"{self.name}: the process has ended") from None
        answer: dict[str, Any] = json.loads(self._line(command))
        if "failed" in answer:
            raise SystemFailedError(f"{self.name}: {command} failed: {answer['failed']}")
        return answer

    def cost(self, command: str, *arguments: str, entity: str = ENTITY) -> Cost:
        """As `send`, measured."""
        pid, warehouse = self._process.pid, self.home / WAREHOUSE
        before = measure.files(warehouse)
        measure.reset_peak_memory(pid)
        cpu = measure.cpu_seconds(pid)
        started = time.monotonic()
        answer = self.send(command, *arguments, entity=entity)
        seconds = time.monotonic() - started
        return Cost(
            seconds,
            measure.cpu_seconds(pid) - cpu,
            measure.peak_memory(pid),
            measure.written(before, measure.files(warehouse)),
            answer,
        )

    def wrong_rows(self, oracle: Oracle, found: Digest) -> int:
        """Rows of the table that are not as expected; asks for all rows only if the digest differs.

        Args:
            oracle: for the table.
            found: digest of the table.

        Raises:
            SystemFailedError: the rows cannot be read.
        """
        if found == oracle.digest:
            return 0
        file = self.home / "row_hashes.json"
        self.send("row_hashes", str(file))
        with file.open(encoding="utf-8") as lines:
            return oracle.wrong_rows((key, hashed) for key, hashed in map(json.loads, lines))

    def end(self) -> float:
        """Ends the process; returns seconds since its start."""
        if self._process.stdin and not self._process.stdin.closed:
            # What a process that has ended did not read cannot be written.
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            os.close(self._answers)
        return time.monotonic() - self.started

    def _line(self, command: str) -> bytes:
        deadline = time.monotonic() + self.timeout
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                for pid in reversed(measure.process_tree(self._process.pid)):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self._process.wait()
                raise SystemFailedError(f"{self.name}: {command} took more than {self.timeout:.0f} s")
            part = os.read(self._answers, 65536)
            if not part:
                raise SystemFailedError(f"{self.name}: the process ended in {command}; its message is above")
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line
