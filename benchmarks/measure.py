"""Processor time, memory and written bytes of a system, seen from outside (Linux; elsewhere zero)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
Files = dict[str, tuple[int, int]]


def process_tree(pid: int) -> list[int]:
    """A process and all that descend from it, the JVM among them."""
    parents: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            # The name in parentheses may have blanks.
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
    found = [pid]
    for parent in found:
        found += [child for child, own in parents.items() if own == parent]
    return found


def cpu_seconds(pid: int) -> float:
    """Processor time of a process tree so far, with that of children that have ended."""
    ticks = 0
    for one in process_tree(pid):
        with suppress(OSError):
            fields = (PROC / str(one) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def reset_peak_memory(pid: int) -> None:
    """Lets the peak of each process of a tree begin at what it has now."""
    for one in process_tree(pid):
        with suppress(OSError):
            (PROC / str(one) / "clear_refs").write_text("5", encoding="utf-8")


def peak_memory(pid: int) -> int:
    """Sum of the peaks of resident memory (VmHWM) over a process tree, in bytes."""
    total = 0
    for one in process_tree(pid):
        with suppress(OSError):
            for line in (PROC / str(one) / "status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM:"):
                    total += 1024 * int(line.split()[1])
    return total


def files(folder: Path) -> Files:
    """Size and modification time, in nanoseconds, of each file below a folder."""
    found: Files = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            stat = path.stat()
            if path.is_file():
                found[str(path)] = stat.st_size, stat.st_mtime_ns
    return found


def written(before: Files, after: Files) -> int:
    """Bytes of the files that are new or have changed. A file that was written and removed in between is not seen."""
    return sum(size for path, (size, time) in after.items() if before.get(path) != (size, time))
