"""scripts/setup.py up to its messages, as a process of its own on a path of our making."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The set-up's files in a directory of their own, and `bin`, the only directory of the search path."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", copy / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "Makefile",
        "pyproject.toml",
        "requirements.lock",
        "requirements-dev.lock",
        "requirements-spark4.lock",
    ):
        shutil.copy(ROOT / name, copy)
    (copy / "alluvium" / "runtime").mkdir(parents=True)
    for name in ("jars.lock", "jars-spark4.lock"):
        shutil.copy(ROOT / "alluvium" / "runtime" / name, copy / "alluvium" / "runtime")
    (copy / "bin").mkdir()
    for tool in ("make", "sh", "sed", "awk", "test", "echo"):
        found = shutil.which(tool)
        assert found
        (copy / "bin" / tool).symlink_to(found)
    return copy


def python(checkout: Path, name: str, version: str) -> None:
    """A Python on the path that says it is of `version` and else is the one that runs the tests."""
    script = checkout / "bin" / name
    major, minor = version.split(".")
    script.write_text(
        f'#!/bin/sh\ncase "$2" in *version_info*) echo {major} {minor};; *) exec "{sys.executable}" "$@";; esac\n',
        encoding="utf-8",
    )
    script.chmod(0o755)


def make_setup(checkout: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "setup"],
        cwd=checkout,
        env={"PATH": str(checkout / "bin"), "HOME": str(checkout), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def message(process: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a set-up that failed; make adds a line of its own."""
    assert process.returncode != 0
    lines = [line for line in process.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, process.stderr
    return lines[0]


def test_no_python(checkout: Path) -> None:
    assert "no Python found: install Python 3.10 to 3.12" in message(make_setup(checkout))


def test_unfitting_python_alone(checkout: Path) -> None:
    python(checkout, "python3", "3.13")
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}  # so that uv cannot be fetched
    sentence = message(make_setup(checkout, **offline))
    assert "needs Python 3.10 to 3.12 and this machine has 3.13: install one" in sentence


@pytest.mark.parametrize("versions", [["3.8"], ["3.9", "3.14"]])
def test_unfitting_pythons(
    checkout: Path, setup: ModuleType, monkeypatch: pytest.MonkeyPatch, versions: list[str]
) -> None:
    monkeypatch.setattr(setup, "own_uv", lambda: None)
    for name, version in zip(("python3", "python3.12"), versions, strict=False):
        python(checkout, name, version)
    with pytest.raises(setup.SetupError, match=f"this machine has {' and '.join(versions)}: install one"):
        setup.find_interpreter({"PATH": str(checkout / "bin")})


def test_named_python_does_not_fit(checkout: Path) -> None:
    python(checkout, "python3", "3.11")
    python(checkout, "mine", "3.13")
    assert "PYTHON=mine is Python 3.13, and Alluvium needs" in message(make_setup(checkout, PYTHON="mine"))


def test_named_python_is_not_there(checkout: Path) -> None:
    python(checkout, "python3", "3.11")
    assert "PYTHON=none does not run, and Alluvium needs" in message(make_setup(checkout, PYTHON="none"))


def test_no_network(checkout: Path) -> None:
    (checkout / "bin" / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]  # typeshed does not list it
    process = make_setup(checkout, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0")
    assert "Cannot reach the package index" in message(process)
    assert "Traceback" not in process.stdout + process.stderr


@pytest.fixture
def setup(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.delenv("SPARK", raising=False)
    return module_of(checkout)


def module_of(checkout: Path) -> ModuleType:
    """scripts/setup.py of the checkout as a module."""
    spec = importlib.util.spec_from_file_location("alluvium_setup", checkout / "scripts" / "setup.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_full_disk(setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0.7e9))
    monkeypatch.setattr(setup, "find_interpreter", lambda _: sys.executable)
    assert setup.main([]) == 1
    assert "has 0.7 GB free and the set-up needs 2.5 GB: free some space" in capsys.readouterr().err


def test_fitting_python_is_taken_where_the_first_is_not(checkout: Path, setup: ModuleType) -> None:
    python(checkout, "python3", "3.13")
    python(checkout, "python3.11", "3.11")
    assert setup.find_interpreter({"PATH": str(checkout / "bin")}) == str(checkout / "bin" / "python3.11")


def test_python_that_uv_knows_is_taken(checkout: Path, setup: ModuleType) -> None:
    python(checkout, "python3", "3.13")
    python(checkout, "managed", "3.12")
    uv = checkout / "bin" / "uv"
    uv.write_text(f'#!/bin/sh\n[ "$2" = find ] && echo "{checkout}/bin/managed"\n', encoding="utf-8")
    uv.chmod(0o755)
    assert setup.find_interpreter({"PATH": str(checkout / "bin")}) == f"{checkout}/bin/managed"


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "is not the locked one"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError", "Cannot reach the package index"),
        ("ERROR: something new\nmore", "It failed with 'ERROR: something new'"),
    ],
)
def test_failure_of_pip_is_one_sentence(setup: ModuleType, output: str, sentence: str) -> None:
    assert sentence in setup.explain(output)
    assert "\n" not in setup.explain(output)


def test_debian_without_ensurepip_uses_the_wheel_of_apt(
    checkout: Path, setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`apt-get download` needs no root, and uses the sources that the machine has."""
    tools = checkout / "bin"
    (tools / "apt-get").write_text("#!/bin/sh\n: > python3-pip-whl_1_all.deb\n", encoding="utf-8")
    wheels = "$3/usr/share/python-wheels"
    (tools / "dpkg-deb").write_text(f"#!/bin/sh\nmkdir -p {wheels} && : > {wheels}/pip-1-py3-none-any.whl\n")
    for name in ("apt-get", "dpkg-deb"):
        (tools / name).chmod(0o755)
    mkdir = shutil.which("mkdir")
    assert mkdir
    (tools / "mkdir").symlink_to(mkdir)
    monkeypatch.setenv("PATH", str(tools))
    (wheel,) = setup.download_pip_wheel()
    assert Path(wheel) == checkout / ".alluvium/pip/usr/share/python-wheels/pip-1-py3-none-any.whl"


@pytest.mark.parametrize(
    "name",
    ["requirements", "requirements-bench", "requirements-dev", "requirements-spark4", "scripts/requirements-build"],
)
def test_locks_have_hashes_and_name_no_index(name: str) -> None:
    text = (ROOT / f"{name}.lock").read_text(encoding="utf-8")
    assert "http" not in text
    assert "index" not in text
    requirements = [line for line in text.splitlines() if line and line[0].isalnum()]
    assert requirements
    assert all("==" in line and line.endswith("\\") for line in requirements)


def pins(name: str) -> set[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return {line for line in text.splitlines() if line and line[0].isalnum()}


def test_dev_lock_agrees_with_the_run_lock() -> None:
    assert pins("requirements.lock") <= pins("requirements-dev.lock")


def test_lock_of_spark_4_differs_in_spark_alone() -> None:
    differing = {line.split("==")[0] for line in pins("requirements-dev.lock") ^ pins("requirements-spark4.lock")}
    assert differing == {"py4j", "pyspark"}


def test_spark_4_has_an_environment_of_its_own(checkout: Path) -> None:
    python(checkout, "python3", "3.8")
    assert 'SPARK is "5", not 3 or 4' in make_setup(checkout, SPARK="5").stderr
    for spark, environment in (("3", ".venv"), ("4", ".venv-spark4")):
        process = subprocess.run(
            ["make", "-n", "test", f"SPARK={spark}"], cwd=checkout, capture_output=True, text=True, check=True
        )
        assert "scripts/setup.py --dev" in process.stdout
        assert f"\n{environment}/bin/python -m pytest" in process.stdout


@pytest.mark.parametrize(
    ("spark", "dev", "names"),
    [("", False, (".venv", "requirements.lock")), ("3", True, (".venv", "requirements-dev.lock"))]
    + [("4", dev, (".venv-spark4", "requirements-spark4.lock")) for dev in (False, True)],
)
def test_environment_and_lock(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, spark: str, dev: bool, names: tuple[str, str]
) -> None:
    monkeypatch.setenv("SPARK", spark)
    module = module_of(checkout)
    assert (Path(module.VENV).name, Path(module.lock_file(dev)).name) == names
