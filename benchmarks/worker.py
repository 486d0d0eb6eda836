"""The process of one system: reads commands as JSON lines, answers each on a pipe of its own.

Its standard output is left to Spark and dbt.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from benchmarks.generator import Shape
from benchmarks.systems import system
from benchmarks.systems.base import Place, System

Answer = dict[str, Any]


def run(target: System, command: str, arguments: list[str]) -> Answer:
    """One command on a table.

    Args:
        target: the system.
        command: name of a method.
        arguments: a path for `row_hashes`.
    """
    if command == "row_hashes":
        with Path(arguments[0]).open("w", encoding="utf-8") as file:
            for pair in target.row_hashes():
                file.write(f"{json.dumps(pair)}\n")
        return {}
    found = getattr(target, command)(*arguments)
    return found if isinstance(found, dict) else {"value": found}


def main(arguments: list[str]) -> None:
    """Serves until its input ends; the arguments are a JSON object of what to serve, and the answers' descriptor."""
    specification = json.loads(arguments[0])
    kind = system(specification["system"])
    home = Path(specification["home"])
    session: Any = None
    tables: dict[str, System] = {}
    with os.fdopen(int(arguments[1]), "w", encoding="utf-8") as answers:
        for line in sys.stdin:
            command, entity, *rest = json.loads(line)
            try:
                if command == "start":
                    session, answer = kind.start(home), {}
                else:
                    if entity not in tables:
                        own = specification["tables"][entity]
                        tables[entity] = kind(
                            Place(home, Path(own["location"]), Shape(**own["shape"]), entity), session
                        )
                    answer = run(tables[entity], command, rest)
            except Exception as error:
                traceback.print_exc()
                answer = {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"}
            answers.write(f"{json.dumps(answer)}\n")
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
