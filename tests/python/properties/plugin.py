"""pytest options of the property tests.

Loaded by ``pytest_plugins = ["properties.plugin"]`` in tests/python/conftest.py, before the folder is looked into.
"""

from __future__ import annotations

import pytest

# One that `make test` is the same with on every machine.
SEED = 20240501


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--property-seed`` and ``--property-histories``."""
    group = parser.getgroup("properties", "random histories of tables (tests/python/properties)")
    group.addoption("--property-seed", type=int, default=SEED, metavar="N", help=f"of the histories (default: {SEED})")
    group.addoption(
        "--property-histories",
        type=int,
        default=None,
        metavar="N",
        help="in each table, instead of the test's own number",
    )
