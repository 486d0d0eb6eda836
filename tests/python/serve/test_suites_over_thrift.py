"""The suites of the pipeline, built over a Thrift server: the same tests find the same rows.

The server is in the process of the tests, so they read its tables in its session.
"""

from __future__ import annotations

import pytest
from other_session import run

PIPELINE = "tests/python/pipeline"
SUITES = {
    "captures": ["tests/python/captures"],
    "pipeline": [f"{PIPELINE}/test_{name}.py" for name in ("gold", "history", "layouts", "quarantine", "rows")],
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("file_format", ["delta", "hudi_mor"])
@pytest.mark.parametrize("suite", SUITES)
def test_suites(suite: str, file_format: str) -> None:
    arguments = ("--target", "thrift", "--file-format", file_format, "-m", "not slow")
    assert " passed" in run(*arguments, *SUITES[suite])
