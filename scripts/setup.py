"""Make the environment: .venv with the locked packages, and Spark's jars. Run by `make setup`, with any Python 3.

Standard library only, and nothing newer than Python 3.6, because it has to run on a machine's own Python, far enough
to find a fitting one or to say in one sentence what is missing.
"""

import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# `make SPARK=4`: an environment of its own, with the tests' packages in any case.
IS_SPARK_4 = os.environ.get("SPARK") == "4"
VENV = os.path.join(ROOT, ".venv-spark4" if IS_SPARK_4 else ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
GENERATED = os.path.join(ROOT, ".alluvium")
LOG = os.path.join(GENERATED, "setup.log")

# dbt-core 1.11 and PySpark 3.5 meet in these; PySpark 3.5 breaks on 3.13 (typing internals of its cloudpickle).
FITTING = ((3, 10), (3, 11), (3, 12))
NAMES = ("python3", "python3.12", "python3.11", "python3.10")
# Measured on Linux: 0.75 GB installed and 0.3 GB cached; 2.1 GB at the peak, while pip builds Spark's wheel.
NEEDED_GB = 2.5
INTERPRETER_REMEDY = (
    "install one ('sudo apt-get install python3.12 python3.12-venv' where your release has it, 'brew install "
    "python@3.12' on macOS, or 'uv python install 3.12'), then run 'make PYTHON=python3.12 setup'."
)


class SetupError(Exception):
    """What keeps the set-up from going on, in one sentence that says what to do."""


def say(text: str) -> None:
    print("setup: " + text, flush=True)


def version_of(interpreter: str) -> Optional[Tuple[int, int]]:
    """(major, minor) of a Python, None when it does not run."""
    try:
        output = subprocess.check_output(
            [interpreter, "-c", "import sys; print('%d %d' % sys.version_info[:2])"], stderr=subprocess.DEVNULL
        )
        major, minor = output.split()
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return int(major), int(minor)


def find_interpreter(environ: Dict[str, str]) -> str:
    """Path of a Python 3.10 to 3.12: $PYTHON and no other when set, else on the path, else through uv."""
    wanted = environ.get("PYTHON")
    if wanted:
        found = version_of(wanted)
        if found in FITTING:
            return shutil.which(wanted) or wanted
        problem = "is Python %d.%d" % found if found else "does not run"
        raise SetupError("PYTHON=%s %s, and Alluvium needs Python 3.10 to 3.12: name such a one." % (wanted, problem))
    seen = []
    for name in NAMES:
        path = shutil.which(name, path=environ.get("PATH"))
        found = version_of(path) if path else None
        if path and found in FITTING:
            return path
        if found:
            seen.append("%d.%d" % found)
    uv = shutil.which("uv", path=environ.get("PATH"))
    through_uv = python_through_uv([uv] if uv else own_uv())
    if through_uv:
        return through_uv
    raise SetupError(
        "Alluvium needs Python 3.10 to 3.12 and this machine has %s: %s" % (" and ".join(seen), INTERPRETER_REMEDY)
    )


def python_through_uv(uv: Optional[List[str]]) -> Optional[str]:
    """A fitting Python that uv knows of, else one that it downloads; None when it can do neither."""
    if uv is None:
        return None
    find = uv + ["python", "find", "--no-project", ">=3.10,<3.13"]
    for install in (False, True):
        if install:
            say("downloading Python 3.12 with uv, about 30 MB, once")
            if subprocess.call(uv + ["python", "install", "--quiet", "3.12"], stderr=subprocess.DEVNULL):
                return None
        try:
            found = subprocess.check_output(find, stderr=subprocess.DEVNULL).decode().strip()
        except (OSError, subprocess.CalledProcessError):
            continue
        if version_of(found) in FITTING:
            return found
    return None


def own_uv() -> Optional[List[str]]:
    """uv from the package index, in an environment of its own. None when this Python cannot have one."""
    directory = os.path.join(GENERATED, "uv")
    python = os.path.join(directory, "bin", "python")
    uv = os.path.join(directory, "bin", "uv")
    if not os.path.exists(uv):
        try:
            make_environment(sys.executable, directory)
            pip = first_pip(sys.executable, python, directory)
            run(pip + ["install", "--require-hashes", "-r", os.path.join(ROOT, "scripts", "requirements-uv.lock")])
        except SetupError:
            shutil.rmtree(directory, ignore_errors=True)
            return None
    return [uv] if os.path.exists(uv) else None


def make_environment(interpreter: str, directory: str) -> None:
    """A virtual environment without pip: Debian's Python cannot put pip in unless python3-venv is installed."""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        run([interpreter, "-m", "venv", "--without-pip", directory])
    except SetupError as error:
        raise SetupError(
            "%s cannot make a virtual environment (%s): install its venv module "
            "('sudo apt-get install python3-venv' on Debian and Ubuntu)." % (interpreter, error)
        )


def first_pip(interpreter: str, python: str, directory: str) -> List[str]:
    """The command of some pip that installs into the environment of `python`. Its version does not matter."""
    if subprocess.call([python, "-c", "import ensurepip"], stderr=subprocess.DEVNULL) == 0:
        try:
            run([python, "-m", "ensurepip"])
            return [python, "-m", "pip"]
        except SetupError:
            pass  # ensurepip is there but its wheels are not
    wheels = glob.glob("/usr/share/python-wheels/pip-*.whl") or download_pip_wheel()
    if wheels:
        return [python, os.path.join(wheels[0], "pip")]
    # The base interpreter's pip works on any environment when told the target, and without running inside it.
    if (
        subprocess.call([interpreter, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        == 0
    ):
        site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
        build = os.path.join(ROOT, "scripts", "requirements-build.lock")
        run([interpreter, "-m", "pip", "install", "--require-hashes", "--target", site.decode().strip(), "-r", build])
        return [python, "-m", "pip"]
    raise SetupError(
        "%s has no pip and none could be downloaded: install it ('sudo apt-get install python3-venv' on Debian and "
        "Ubuntu), then run 'make setup' again." % interpreter
    )


def download_pip_wheel() -> List[str]:
    """pip's wheel out of Debian's or Ubuntu's python3-pip-whl, unpacked in .alluvium: needs no root."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return []
    directory = os.path.join(GENERATED, "pip")
    wheels = os.path.join(directory, "usr", "share", "python-wheels", "pip-*.whl")
    if not glob.glob(wheels):
        os.makedirs(directory, exist_ok=True)
        try:
            run(["apt-get", "download", "python3-pip-whl"], directory)
            for package in glob.glob(os.path.join(directory, "*.deb")):
                run(["dpkg-deb", "-x", package, directory])
        except SetupError:
            return []
    return glob.glob(wheels)


def run(
    command: List[str],
    cwd: str = ROOT,
    environ: Optional[Dict[str, str]] = None,
    announce: Tuple[Tuple[str, str], ...] = (),
) -> None:
    """Run a command with its output in the log.

    `announce` pairs a regular expression with what to say when a line of the output first matches it.
    """
    os.makedirs(GENERATED, exist_ok=True)
    waiting = list(announce)
    lines: List[str] = []
    with open(LOG, "a", encoding="utf-8", errors="replace") as log:
        log.write("$ %s\n" % " ".join(command))
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                errors="replace",
            )
        except OSError as error:
            raise SetupError("cannot run %s (%s)." % (command[0], error.strerror))
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            lines.append(line)
            for pair in [pair for pair in waiting if re.search(pair[0], line)]:
                waiting.remove(pair)
                say(pair[1])
    if process.wait() != 0:
        raise SetupError(explain("".join(lines)))


def explain(output: str) -> str:
    """One sentence for the user from the output of a command that failed."""
    if "No space left on device" in output:
        return "The disk is full: free 2.5 GB on the one of %s, then run 'make setup' again." % ROOT
    if "CERTIFICATE_VERIFY_FAILED" in output:
        return (
            "The package index shows a certificate that this machine does not trust: name your organisation's "
            "CA bundle in PIP_CERT, then run 'make setup' again."
        )
    if "DO NOT MATCH THE HASHES" in output:
        return (
            "A downloaded package is not the locked one: something between this machine and the package index alters "
            "files; try another network or mirror (PIP_INDEX_URL), then run 'make setup' again."
        )
    if re.search(
        r"Max retries exceeded|NewConnectionError|connection broken by|timed out|from versions: none",
        output,
    ):
        return (
            "Cannot reach the package index: connect to the network, or name your mirror in PIP_INDEX_URL, "
            "then run 'make setup' again."
        )
    errors = [line for line in output.splitlines() if re.search(r"error|cannot|not ", line, re.IGNORECASE)]
    last = (errors or output.splitlines() or ["no output"])[-1].strip()
    return "It failed with '%s': the whole output is in %s." % (last[:300], os.path.relpath(LOG))


def check_space(directory: str, needed_gb: float = NEEDED_GB) -> None:
    free_gb = shutil.disk_usage(directory).free / 1e9
    if free_gb < needed_gb:
        raise SetupError(
            "The disk of %s has %.1f GB free and the set-up needs %.1f GB: free some space, or clone to another disk."
            % (directory, free_gb, needed_gb)
        )


def lock_file(dev: bool) -> str:
    name = "requirements-spark4" if IS_SPARK_4 else "requirements-dev" if dev else "requirements"
    return os.path.join(ROOT, name + ".lock")


def digest(lock: str) -> str:
    """What an installed state depends on, so that a touched but unchanged file installs nothing."""
    total = hashlib.sha256(os.environ.get("PYTHON", "").encode())
    for path in (lock, os.path.join(ROOT, "scripts", "requirements-build.lock"), os.path.join(ROOT, "pyproject.toml")):
        with open(path, "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def record(stamp: str, state: str) -> None:
    with open(stamp, "w") as file:
        file.write(state)


def recorded(stamp: str) -> str:
    try:
        with open(stamp) as file:
            return file.read()
    except OSError:
        return ""


def install(interpreter: str, lock: str) -> None:
    """Build tools, then the locked packages, then this checkout."""
    # A small /tmp (a tmpfs on Debian 13) must not decide whether Spark's wheel can be built.
    scratch = tempfile.mkdtemp(prefix="tmp-", dir=GENERATED)
    environ = dict(os.environ, TMPDIR=scratch, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    environ.pop("PIP_USER", None)
    build = os.path.join(ROOT, "scripts", "requirements-build.lock")
    pip = [VENV_PYTHON, "-m", "pip"]
    announce = (
        (r"^Collecting (?!pyspark)", "installing the locked packages"),
        (r"Downloading .*pyspark-", "downloading Spark, about 300 MB, once"),
        (r"Building wheel for pyspark", "unpacking Spark, half a minute"),
    )
    try:
        if not os.path.exists(VENV_PYTHON) or version_of(VENV_PYTHON) != version_of(interpreter):
            make_environment(interpreter, VENV)
        if subprocess.call(pip + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            run(first_pip(interpreter, VENV_PYTHON, VENV) + ["install", "--require-hashes", "-r", build], ROOT, environ)
        run(pip + ["install", "--require-hashes", "-r", build], ROOT, environ)
        # Without isolation: pyspark and PyHive have no wheels, and would be built with the setuptools of the day.
        run(pip + ["install", "--require-hashes", "--no-build-isolation", "-r", lock], ROOT, environ, announce)
        run(pip + ["install", "--no-deps", "--no-build-isolation", "--no-index", "-e", ROOT], ROOT, environ)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def prepare_spark() -> None:
    process = subprocess.Popen(
        [VENV_PYTHON, "-m", "alluvium.runtime.prepare"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    output, errors = process.communicate()
    if process.returncode != 0:
        raise SetupError((errors.strip().splitlines() or ["The jars cannot be fetched."])[-1])
    say(output.strip())


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Make the environment and fetch Spark's jars.")
    parser.add_argument("--dev", action="store_true", help="also what the tests and linters need")
    dev = parser.parse_args(arguments).dev
    lock = lock_file(dev)
    stamp = os.path.join(VENV, ".alluvium-dev" if dev else ".alluvium-run")
    try:
        state = digest(lock)
        if recorded(stamp) != state or version_of(VENV_PYTHON) not in FITTING:
            interpreter = find_interpreter(dict(os.environ))
            say("Python %d.%d, %s" % ((version_of(interpreter) or (0, 0)) + (interpreter,)))
            os.makedirs(GENERATED, exist_ok=True)
            if not os.path.exists(stamp):
                check_space(ROOT)
            install(interpreter, lock)
        prepare_spark()
        record(stamp, state)
        if dev:  # has all that a run needs
            record(os.path.join(VENV, ".alluvium-run"), digest(lock_file(dev=False)))
    except SetupError as error:
        print("setup: %s" % error, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            "setup: Cannot write %s (%s): free some space or mend the permissions, then run 'make setup' again."
            % (error.filename or ROOT, error.strerror),
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("\nsetup: stopped; 'make setup' goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
