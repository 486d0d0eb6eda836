"""`make statements`: how many statements dbt sends to Spark, by kind of node.

Three builds of the source systems: of their first files, of the later ones, and of nothing new.

Counted in dbt's own log (logs/dbt.log, dbt-core 1.11), where each statement follows the name of its connection.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.project import working_folder
from benchmarks.targets import land, run
from scripts import demo

BUILDS = ("first files", "later files", "nothing new")
_BEGIN = re.compile(r"(?:\x1b\[0m)?(\d\d):(\d\d):(\d\d\.\d+) \[\w+ *\] \[([^\]]*)\]: (.*)")
_SENT = re.compile(r"On ([^:]+): (?:/\* \{.*?\} \*/)?(.*)", re.DOTALL)
# What dbt says between a statement and its rows.
_DURING = ("Opening a new connection", "SQL status")
_ENDS = ("Close", "ROLLBACK", "COMMIT")
# By the name of a node, the first that fits.
_KINDS = {
    "change log": r"model\.\w+\.stg_",
    "quarantine": r"model\.\w+\.qrn_",
    "state": r"model\.\w+\.slv_\w+_state$",
    "history": r"model\.\w+\.slv_\w+_history$",
    "current rows": r"model\.\w+\.slv_",
    "mart": r"model\.",
    "test": r"test\.",
    "seed or snapshot": r"(seed|snapshot)\.",
    "hooks of the run": r"master$|operation\.",
    "dbt's cache": r"",
}


class Statement(NamedTuple):
    """A statement that was sent.

    Attributes:
        node: unique id of the node that sent it, or dbt's name of another connection.
        sql: its text.
        started: when, in seconds since the midnight (UTC) before the log's first line.
        ended: when its thread went on: its rows had been fetched.
    """

    node: str
    sql: str
    started: float
    ended: float

    @property
    def kind(self) -> str:
        """What sent it: a kind of model, the tests, the hooks, dbt itself."""
        return next(kind for kind, pattern in _KINDS.items() if re.match(pattern, self.node))

    @property
    def verb(self) -> str:
        """Its first words: two, of a setting its name's first part, of what is replaced up to the kind of thing."""
        words = re.sub(r"(--[^\n]*\n|\s)+", " ", self.sql).strip().lower().split(" ")
        if words[0] == "set" and len(words) > 1:
            return f"set {words[1].split('.')[0]}"
        replaced = re.match("create or replace (temporary )?(table|view)", " ".join(words))
        return replaced[0] if replaced else " ".join(words[:2])


def statements(log: str) -> Iterator[Statement]:
    """The statements in a text of dbt's log, in the order of their ends.

    Args:
        log: text of one or more invocations at the level debug.
    """
    sent = dict[str, tuple[str, str, float]]()
    seconds = 0.0
    for seconds, thread, text in _messages(log):
        if thread in sent and not text.startswith(_DURING):
            yield Statement(*sent.pop(thread), seconds)
        found = _SENT.fullmatch(text)
        if found and (sql := found[2].strip()) and sql not in _ENDS:
            sent[thread] = (found[1], sql, seconds)
    yield from (Statement(*last, seconds) for last in sent.values())


def _messages(log: str) -> Iterator[tuple[float, str, str]]:
    """Seconds since midnight, thread and text of each message; a log has times without dates."""
    lines = list[str]()
    thread, seconds = "", 0.0
    for line in log.splitlines():
        begin = _BEGIN.match(line)
        if begin is None:
            lines.append(line)
            continue
        if thread:
            yield seconds, thread, "\n".join(lines)
        time = 3600 * int(begin[1]) + 60 * int(begin[2]) + float(begin[3])
        seconds = time + 86400 * max(0.0, (seconds - time + 43200) // 86400)
        thread, lines = begin[4], [begin[5]]
    if thread:
        yield seconds, thread, "\n".join(lines)


def build(folder: Path, heading: str, systems: Sequence[str]) -> str:
    """Land the files of one of `BUILDS`, build in a process of its own, and return dbt's log.

    Args:
        folder: for landed files and tables.
        heading: which build.
        systems: names of their sources.

    Raises:
        subprocess.CalledProcessError: the build fails.
    """
    if heading != BUILDS[2]:
        land(folder / "landing", systems, is_later=heading == BUILDS[1])
    logs = folder / heading
    places = {"ALLUVIUM_HOME": folder / "home", "ALLUVIUM_LANDING": folder / "landing", "DBT_LOG_PATH": logs}
    environment = os.environ | {name: str(path) for name, path in places.items()}
    selected = (f"@source:{system}" for system in systems)
    run(environment, "dbt", "--log-file-max-bytes", "0", "--quiet", *demo.BUILD, "--select", *selected)
    return (logs / "dbt.log").read_text(encoding="utf-8")


def table(counted: Iterable[Counter[tuple[str, str]]], headings: Iterable[str]) -> str:
    """The counts side by side, by kind and verb.

    Args:
        counted: number of statements by kind and verb, of each run.
        headings: a name for each run.
    """
    runs = list(counted)
    lines = [f"{'':50}" + "".join(f"{heading[-13:]:>14}" for heading in headings)]

    def row(name: str, numbers: Iterable[int]) -> str:
        return f"{name:50}" + "".join(f"{number:>14,}" for number in numbers)

    for kind in _KINDS:
        verbs = sorted({verb for run in runs for of, verb in run if of == kind})
        if verbs:
            lines.append(row(kind, (sum(run[kind, verb] for verb in verbs) for run in runs)))
        most = sorted(verbs, key=lambda verb: -max(run[kind, verb] for run in runs))
        lines += [row(f"  {verb[:46]}", (run[kind, verb] for run in runs)) for verb in most]
    return "\n".join([*lines, row("all", (run.total() for run in runs))])


def main(arguments: list[str] | None = None) -> int:
    """Build three times and print what was sent, or count the logs that are given."""
    parser = argparse.ArgumentParser(prog="benchmarks.statements", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "logs", nargs="*", type=Path, metavar="LOG", help="files of dbt's log, one a run, in place of builds"
    )
    parser.add_argument("--systems", nargs="+", choices=demo.SYSTEMS, default=list(demo.SYSTEMS))
    options = parser.parse_args(arguments)
    texts = {str(path): path.read_text(encoding="utf-8") for path in options.logs}
    if not texts:
        with working_folder("statements") as folder:
            texts = {heading: build(folder, heading, options.systems) for heading in BUILDS}
    counts = [Counter((sent.kind, sent.verb) for sent in statements(text)) for text in texts.values()]
    print(table(counts, texts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
