"""What holds the modules of this folder together."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from pathlib import Path


def test_feeds_of_all_modules_have_names_of_their_own() -> None:
    """The slow suites of all modules are one project, which the fast ones are not."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for feed in getattr(import_module(f"{__package__}.{path.stem}"), "FEEDS", ()):
            modules[feed.name].append(path.stem)
    assert len(modules) > 100
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
