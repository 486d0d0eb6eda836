"""The built cases, and the report of a failure: the seed, and a history as small as can be that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.project import Project

from .cases import Case
from .database import History
from .shrinking import shrink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Suite:
    """A dbt project over some cases, every round of it built.

    Attributes:
        folder: for the project and for those that shrink a failing history.
        spark: the shared session.
        profile: profiles.yml.
        variables: dbt's, on each command line.
        cases: by name.
        seed: of the histories.
        project: the project.
    """

    folder: Path
    spark: SparkSession
    profile: Mapping[str, Any]
    variables: Mapping[str, str]
    cases: Mapping[str, Case]
    seed: int
    project: Project = field(init=False)
    _runs: int = 0

    def __post_init__(self) -> None:
        self.project = self._built(self.folder / "all", list(self.cases.values()))

    def _built(self, folder: Path, cases: Sequence[Case]) -> Project:
        feeds = [feed for case in cases for feed in case.feeds]
        project = Project(folder, self.spark, feeds, self.profile, self.variables)
        project.build_rounds()
        return project

    def report(self, name: str) -> str:
        """What is wrong in the states of a case; an empty text if nothing is."""
        case = self.cases[name]
        differences = case.differences(self.project)
        if not differences:
            return ""
        histories = {history.number: history for history in case.histories}
        least = min(differences, key=lambda number: len(case.by_history[number]))
        report = [
            f"{len(differences)} of {len(histories)} histories of {name} differ, --property-seed={self.seed}",
            f"history {least}, delivered {histories[least].label if least else 'with the resets'}:",
            *differences[least],
        ]
        if least:
            report += self._minimal(case, histories[least])
        return "\n".join(report)

    def _minimal(self, case: Case, history: History) -> list[str]:
        """The report of a smaller history that fails alone."""
        tried: list[tuple[History, list[str]]] = []

        def failing(candidates: Sequence[History]) -> set[int]:
            self._runs += 1
            name = f"{case.name}_shrunk_{self._runs}"
            smaller = replace(case, name=name, histories=tuple(candidates), copies=False)
            found = smaller.differences(self._built(self.folder / name, [smaller]))
            tried.extend((candidate, found[candidate.number]) for candidate in candidates if candidate.number in found)
            return set(found)

        shrunk = shrink(history, failing)
        if shrunk is None:
            return ["It does not fail alone."]
        alone = replace(case, histories=(replace(shrunk.history, number=1),))
        messages = next(found for candidate, found in tried if candidate.epochs == shrunk.history.epochs)
        return [
            f"{'The smallest' if shrunk.is_minimal else 'A smaller'} history that fails, after {shrunk.runs} runs:",
            repr(shrunk.history),
            f"played in {case.table}:",
            *(f"  {record.arrivals} {record.event}" for record in alone.records),
            *messages,
        ]
