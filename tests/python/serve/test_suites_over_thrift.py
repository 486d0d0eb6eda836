"""The suites of the pipeline, built over a Thrift server: the same tests find the same rows.

The server is in the process of the tests, so they read its tables in its session.
"""

from __future__ import annotations

import pytest
from other_session import run

PIPELINE = "tests/python/pipeline"
SUITES = {
    "captures": ["tests/python/captures"],
    "properties": ["tests/python/properties"],
    "pipeline": [f"{PIPELINE}/test_{name}.py" for name in ("gold", "history", "layouts", "rows")],
}
# Of change logs, which are Delta's; the states of its feed have an array of times without a zone, which Hudi's refuse.
OF_DELTA = {"pipeline": [f"{PIPELINE}/test_quarantine.py"]}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("file_format", ["delta", "hudi_mor"])
@pytest.mark.parametrize("suite", SUITES)
def test_suites(suite: str, file_format: str) -> None:
    arguments = ("--target", "thrift", "--file-format", file_format)
    more = OF_DELTA.get(suite, []) if file_format == "delta" else []
    assert " passed" in run(*arguments, *SUITES[suite], *more)
