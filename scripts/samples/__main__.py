"""Writes the samples of the source systems: `python -m scripts.samples DATA [source ...]`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

SAMPLES: Final = Path(__file__).parent.parent.parent / "samples"

# Each module has `files(data)`. One is imported when its source is asked for, and no sooner.
SOURCES: Final = {
    "erp": "scripts.samples.erp",
    "moma": "scripts.samples.moma",
    "northwind": "scripts.samples.northwind",
    "pagila": "scripts.samples.pagila",
    "pagila_jdbc": "scripts.samples.pagila_jdbc",
    "sales": "scripts.samples.sales",
    "storefront": "scripts.samples.storefront",
}


def files(source: str, data: Path) -> Mapping[str, bytes]:
    """A source's files, path below `samples/<source>/` -> content, made from the licensed data."""
    made: Mapping[str, bytes] = import_module(SOURCES[source]).files(data)
    return made


def write(source: str, data: Path) -> int:
    """Write a source's files in place of those that are there; returns how many.

    Whole folders are replaced, and files beside them (README.md, LICENSE) are left.
    """
    made = files(source, data)
    for folder in {path.partition("/")[0] for path in made if "/" in path}:
        shutil.rmtree(SAMPLES / source / folder, ignore_errors=True)
    for path, content in made.items():
        target = SAMPLES / source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return len(made)


def main(arguments: Sequence[str]) -> int:
    """Write the samples of the named sources, of all without a name."""
    if not arguments or not set(arguments[1:]) <= set(SOURCES):
        print(f"usage: python -m scripts.samples DATA [{' '.join(SOURCES)}]", file=sys.stderr)
        return 2
    for source in arguments[1:] or SOURCES:
        print(f"{source}: {write(source, Path(arguments[0]))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
