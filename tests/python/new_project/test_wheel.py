"""The wheel: its modules, its metadata, its dependencies, and the project that it makes."""

from __future__ import annotations

import email
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from alluvium import __version__
from scripts.demo import SYSTEMS

from .test_new_project import REPOSITORY, run

OFFLINE = ("--no-deps", "--no-build-isolation", "--no-index")
FOLDERS = (
    "alluvium",
    "dbt_alluvium",
    "spark_udfs",
    "macros",
    "tests/generic",
    "models/_docs",
    "docs",
    "deploy/emr",
    "scripts",
    "samples",
)
FILES = (
    "pyproject.toml",
    "dbt_project.yml",
    "profiles.yml",
    "requirements.in",
    "requirements.lock",
    "README.md",
    "LICENSE",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built in a copy, since a build writes into its checkout."""
    directory = tmp_path_factory.mktemp("wheel")
    for name in FOLDERS:
        shutil.copytree(
            REPOSITORY / name,
            directory / "checkout" / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in FILES:
        shutil.copyfile(REPOSITORY / name, directory / "checkout" / name)
    run(directory, "pip", "wheel", *OFFLINE, "--wheel-dir", str(directory), str(directory / "checkout"))
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    directory = wheel.parent / "site"
    run(wheel.parent, "pip", "install", *OFFLINE, "--target", str(directory), str(wheel))
    return directory


def test_modules(wheel: Path, site: Path) -> None:
    """An installed `spark_udfs` or `tests` could be anybody's."""
    assert wheel.name == f"dbt_alluvium-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as read:
        texts = {name: read.read(name).decode() for name in read.namelist()}
    assert {name.partition("/")[0] for name in texts} == {
        "alluvium",
        "dbt_alluvium",
        f"dbt_alluvium-{__version__}.dist-info",
    }
    # The tests' own environment has the checkout on its path, where such an import succeeds.
    importing = re.compile(r"^\s*(from|import) spark_udfs\b", re.MULTILINE)
    assert [name for name, text in texts.items() if name.endswith(".py") and importing.search(text)] == []
    isolated = {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    assert run(site.parent, "alluvium.cli", "--version", **isolated) == f"alluvium {__version__}\n"
    for module in ("alluvium.spark_udfs.reader", "dbt_alluvium"):
        assert run(site.parent, "inspect", "--details", module, **isolated).find(f"Origin: {site}") > 0


def test_has_nothing_of_the_demo(wheel: Path) -> None:
    """Whoever installs it has files of their own: the source systems and their samples are the checkout's."""
    kinds = ("py", "md", "sql", "yml", "yaml", "jinja", "lock", "properties", "sh")
    systems = re.compile("|".join([r"\bsamples/", *map(re.escape, SYSTEMS.values())]))
    with zipfile.ZipFile(wheel) as read:
        names = [name for name in read.namelist() if ".dist-info/" not in name]
        assert [name for name in names if "demo" in name or name.rpartition(".")[2] not in kinds] == []
        assert [name for name in names if name.endswith(".py") and systems.search(read.read(name).decode())] == []


def test_metadata(wheel: Path) -> None:
    """What `twine check` asks for, and what a package index shows."""
    name = f"dbt_alluvium-{__version__}.dist-info"
    with zipfile.ZipFile(wheel) as read:
        metadata = email.message_from_bytes(read.read(f"{name}/METADATA"))
        assert read.read(f"{name}/licenses/LICENSE") == (REPOSITORY / "LICENSE").read_bytes()
    assert metadata["Name"] == "dbt-alluvium"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert all(metadata[field] for field in ("Summary", "Author", "Keywords", "Requires-Python"))
    labels = {url.partition(",")[0] for url in metadata.get_all("Project-URL", ())}
    assert labels >= {"Homepage", "Documentation", "Issues", "Changelog"}
    classifiers = metadata.get_all("Classifier", ())
    assert not [one for one in classifiers if one.startswith("License")], "the expression replaces them"
    minors = {one.rpartition(".")[2] for one in classifiers if one.startswith("Programming Language :: Python :: 3.")}
    assert minors == {"10", "11", "12"}
    ranges = [Requirement(line) for line in metadata.get_all("Requires-Dist", ())]
    assert ranges
    for requirement in ranges:
        assert {one.operator for one in requirement.specifier} == {">=", "<"}, requirement


def requirements(name: str) -> dict[str, Requirement]:
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    read = [Requirement(line.partition(" #")[0].rstrip("\\ ")) for line in lines if line[:1].isalnum()]
    return {f"{one.name.lower()}{one.marker or ''}": one for one in read}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", "requirements-spark4.lock"])
def test_each_locked_version_is_in_its_range(lock: str) -> None:
    ranges = requirements("requirements.in")
    if "spark4" in lock:
        ranges |= requirements("requirements-spark4.in")
    for name, requirement in ranges.items():
        pins = [pin for pin in requirements(lock).values() if pin.name.lower() == name]
        assert pins, name
        for pin in pins:
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert Version(exact.version) in requirement.specifier, f"{pin} is not in {requirement}"


def test_nothing_names_a_package_that_an_index_could_have() -> None:
    """`alluvium` on PyPI is another project, and `dbt-alluvium` could be anybody's."""
    of_an_index = re.compile(
        r"^(dbt[-_.])?alluvium *([=<>~!\[;,]|$)|\bpip3? install [^`\n]*\b(dbt-)?alluvium\b(?! @)", re.M
    )
    places = [
        *REPOSITORY.glob("requirements*"),
        *REPOSITORY.glob("scripts/requirements*"),
        *REPOSITORY.glob("*.md"),
        *REPOSITORY.glob("docs/**/*.md"),
        *REPOSITORY.glob("alluvium/new_project/templates/*"),
        *REPOSITORY.glob("deploy/**/*.*"),
        *REPOSITORY.glob(".github/**/*.yml"),
    ]
    found = {
        f"{path.relative_to(REPOSITORY)}: {one[0]}"
        for path in places
        for one in of_an_index.finditer(path.read_text("utf-8"))
    }
    assert not found


@pytest.mark.slow
def test_wheel_has_the_dbt_package(tmp_path: Path, site: Path) -> None:
    """Installed from a wheel, `alluvium new` has all that the checkout has."""
    installed = {"PYTHONPATH": str(site)}
    package = site / "alluvium" / "dbt_package"
    assert run(tmp_path, "alluvium.cli", "package", **installed) == f"{package}\n"
    for folder in ("macros", "tests/generic"):
        of_checkout = {path.relative_to(REPOSITORY) for path in (REPOSITORY / folder).rglob("*.*")}
        assert of_checkout == {path.relative_to(package) for path in (package / folder).rglob("*.*")}
    for name in ("operating", "values-not-sent"):
        assert run(tmp_path, "alluvium.cli", "explain", name, **installed).startswith("# ")
    run(tmp_path, "alluvium.cli", "new", "tables", **installed)
    samples = REPOSITORY / "samples/pg-envelope-json-schemas/bronze/confluent-json-gz"
    run(tmp_path / "tables", "alluvium.cli", "scaffold", str(samples), "--source", "shop", **installed)
    run(tmp_path / "tables", "dbt.cli.main", "parse", "--no-partial-parse", **installed)
