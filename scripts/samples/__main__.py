"""Writes the samples of the source systems: `python -m scripts.samples DATA [SOURCE ...]`.

DATA is the directory of the licensed data. What lies below `samples/<source>` is replaced.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SAMPLES: Final = Path(__file__).resolve().parents[2] / "samples"
# Source -> its module, which has `files(data)`: path below `samples/<source>` -> content.
SOURCES: Final = {
    "northwind": "scripts.samples.northwind",
}


def generated(source: str, data: Path) -> Mapping[str, bytes]:
    """The files of a source, by their paths below its folder."""
    files: Mapping[str, bytes] = importlib.import_module(SOURCES[source]).files(data)
    return files


def write(source: str, data: Path) -> None:
    """Replaces the files of a source; what was written by hand, its README, stays."""
    folder = SAMPLES / source
    for old in folder.glob("*/"):
        shutil.rmtree(old)
    for path, content in generated(source, data).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


if __name__ == "__main__":
    for name in sys.argv[2:] or SOURCES:
        write(name, Path(sys.argv[1]))
