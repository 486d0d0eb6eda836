"""A new dbt project that uses Alluvium as a package."""

from __future__ import annotations

import json
import re
import textwrap
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import yaml

from alluvium import AlluviumError, templates
from alluvium.scaffolding.names import slug
from alluvium.wording import INSTALL_WITH_LINKS

__all__ = ["create", "files", "package_directory"]

PACKAGE = "alluvium"
DISTRIBUTION = "dbt-alluvium"
# Git's folder alone does not make a directory a used one.
HARMLESS = frozenset({".git"})
# Names that dbt or this project has itself.
TAKEN = frozenset({PACKAGE, "dbt", "dbt_spark", "models", "macros"})
# Names of columns with blanks or `,;{}()=` need it; a table has it from its beginning or is built anew.
COLUMN_MAPPING = (
    "        # Columns keep the source's names, also those that Parquet would refuse.\n"
    "        delta.columnMapping.mode: name\n"
)
TBLPROPERTIES = "      +tblproperties:\n"
NO_SETTINGS = "Alluvium's dbt_project.yml has no settings for models and seeds: install Alluvium anew."


def package_directory() -> Path:
    """Directory that another project installs: macros and tests, and none of the models that the repository has.

    Raises:
        AlluviumError: its links lead nowhere, as after a checkout without symbolic links.
    """
    directory = Path(__file__).resolve().parents[1] / "dbt_package"
    if (directory / "dbt_project.yml").is_file() and (directory / "macros" / "models").is_dir():
        return directory
    raise AlluviumError(f"{directory} has no dbt package: {INSTALL_WITH_LINKS}")


def create(directory: Path, name: str | None = None) -> tuple[str, ...]:
    """Write a new project, and install Alluvium into it as `dbt deps` does.

    Args:
        directory: of the project; it is made, or empty.
        name: of the project; made from the directory's by default.

    Returns:
        paths of the files, below the directory.

    Raises:
        AlluviumError: the directory is not empty, the name does not fit, or dbt cannot install the package.
    """
    if directory.exists() and not directory.is_dir():
        raise AlluviumError(f"{directory} is a file; give the name of a directory that is to be made.")
    there = sorted({path.name for path in directory.iterdir()} - HARMLESS) if directory.exists() else []
    if there:
        raise AlluviumError(
            f"{directory} is not empty ({', '.join(there[:3])}{', ...' if len(there) > 3 else ''}): give another "
            "directory; a dbt project that is there already takes Alluvium as docs/guide/use-as-package.md says."
        )
    written = files(_project_name(directory, name), package_directory())
    for path, text in written.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _install_package(directory)
    return tuple(written)


def files(name: str, package: Path) -> dict[str, str]:
    """Text of each file of a new project by its path.

    Args:
        name: of the project.
        package: directory of Alluvium's dbt package.
    """
    project = (package / "dbt_project.yml").read_text(encoding="utf-8")
    requirement, origin = _requirement()
    made = templates.environment(Path(__file__).parent / "templates")
    values = {
        "name": name,
        "versions": yaml.safe_load(project)["require-dbt-version"],
        "settings": _model_settings(project),
        "seed_settings": _settings(project, "seeds"),
        "package": _jinja_text(str(package)),
        "requirement": requirement,
        "origin": origin,
    }
    sources = {
        "dbt_project.yml": "dbt_project.yml",
        "packages.yml": "packages.yml",
        "macros/alluvium.sql": "alluvium.sql",
        "macros/generate_schema_name.sql": "generate_schema_name.sql",
        "requirements.txt": "requirements.txt",
        ".github/workflows/build.yml": "build.yml",
        ".gitignore": "gitignore",
        "README.md": "README.md",
    }
    written = {path: made.get_template(f"{source}.jinja").render(values) for path, source in sources.items()}
    profiles = (package / "profiles.yml").read_text(encoding="utf-8")
    written["profiles.yml"] = re.sub(rf"^{PACKAGE}:$", f"{name}:", profiles, count=1, flags=re.MULTILINE)
    return dict(sorted(written.items()))


def _project_name(directory: Path, name: str | None) -> str:
    made = name or slug(directory.resolve().name)
    proposed = f"{slug(made)}_project" if slug(made) in TAKEN else slug(made)
    if made != proposed:
        raise AlluviumError(
            f"name {made!r}: a project is named in lower case, with digits and _, and not {', '.join(sorted(TAKEN))}; "
            f"say --name {proposed}."
        )
    return made


def _model_settings(project: str) -> str:
    settings = _settings(project, "models")
    if TBLPROPERTIES not in settings:
        raise AlluviumError(NO_SETTINGS)
    return settings.replace(TBLPROPERTIES, TBLPROPERTIES + COLUMN_MAPPING, 1)


def _settings(project: str, resources: str) -> str:
    """Those of the package's own: dbt gives a package's settings to no other project."""
    match = re.search(rf"^{resources}:\n  {PACKAGE}:\n((?:    .*\n|\n)+)", project, re.MULTILINE)
    if match is None:
        raise AlluviumError(NO_SETTINGS)
    return match[1].rstrip()


def _jinja_text(text: str) -> str:
    """As a text in Jinja inside a text in double quotes of YAML."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return json.dumps(f"'{quoted}'", ensure_ascii=False)[1:-1]


def _requirement() -> tuple[str | None, str]:
    """A line for pip where Alluvium came from an address that other machines reach, and where it came from.

    Never the name alone: pip would ask an index, where the name may be anybody's.
    """
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None, str(package_directory().parents[1])
    origin: dict[str, Any] = json.loads(distribution.read_text("direct_url.json") or "{}")
    url = str(origin.get("url", ""))
    digest = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
    if not url.startswith(("https:", "ssh:")):
        return None, url2pathname(urlsplit(url).path) if url.startswith("file:") else url or "a package index"
    if "vcs_info" in origin:
        return f"{DISTRIBUTION} @ {origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}", url
    return f"{DISTRIBUTION} @ {url}{f'#sha256={digest}' if digest else ''}", url


def _install_package(directory: Path) -> None:
    from dbt.cli.main import dbtRunner

    location = str(directory.resolve())
    outcome = dbtRunner().invoke(
        ["--quiet", "deps", "--project-dir", location, "--profiles-dir", location, "--log-path", f"{location}/logs"]
    )
    if not outcome.success or not (directory / "dbt_packages" / PACKAGE / "dbt_project.yml").is_file():
        raise AlluviumError(
            textwrap.shorten(f"dbt deps in {directory} did not install Alluvium: {outcome.exception}", 400)
        )
