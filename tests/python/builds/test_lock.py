"""One process at a time builds on a warehouse."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alluvium import AlluviumError
from alluvium.builds import lock
from alluvium.runtime.profile import SessionTarget, ThriftTarget

HOLDER = """
import sys, pathlib
from alluvium.builds import lock
with lock.held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


def test_lock_is_of_one_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "run.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlluviumError) as raised, lock.held(path):
            pass
        holder.send_signal(signal.SIGKILL)
    assert re.search(rf"\(process {holder.pid} since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC; ", str(raised.value))
    assert str(path) in str(raised.value)
    with lock.held(path) as require:
        require()
        assert path.read_text(encoding="utf-8").startswith(f"process {os.getpid()} since ")


@pytest.mark.parametrize("is_replaced", [False, True])
def test_lock_whose_file_is_gone_is_lost(tmp_path: Path, is_replaced: bool) -> None:
    path = tmp_path / "run.lock"
    with lock.held(path) as require:
        path.unlink()
        if is_replaced:
            path.touch()
        with pytest.raises(AlluviumError, match="removed or replaced"):
            require()


def test_lock_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(AlluviumError, match=re.escape(str(tmp_path / "file" / "run.lock"))),
        lock.held(tmp_path / "file" / "run.lock"),
    ):
        pass


@pytest.mark.parametrize(
    ("warehouse", "home"), [("other/warehouse", "other"), ("/var/w/warehouse", "/var/w"), ("s3://b/w", ".alluvium")]
)
def test_lock_is_beside_the_warehouse(warehouse: str, home: str) -> None:
    target = SessionTarget(Path("/p"), "t", "s", {"spark.sql.warehouse.dir": warehouse})
    assert lock.place_of(target) == Path("/p", home, "run.lock")


def test_lock_of_a_server_is_named_after_it() -> None:
    target = ThriftTarget(Path("/p"), "t", "s", "spark.example.com", 10000)
    assert lock.place_of(target) == Path("/p/.alluvium/run_spark.example.com_10000.lock")
