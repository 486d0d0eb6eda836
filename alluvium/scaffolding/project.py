"""The dbt project that is written to: its names, and its files as text and as YAML."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jinja2
import yaml

from alluvium import AlluviumError
from alluvium.runtime.objects import S3_SCHEMES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Project:
    """What dbt_project.yml says.

    Attributes:
        directory: of dbt_project.yml.
        name: of the project.
        model_paths: directories of its models, below the project.
        variables: of ``vars``, those of the project itself before the others.
    """

    directory: Path
    name: str
    model_paths: tuple[str, ...]
    variables: Mapping[str, Any]

    def model_path(self, below: str) -> str:
        """Path of a file of the models, below the project: where it is, or else in the first directory of models."""
        paths = [f"{path}/{below}" for path in self.model_paths]
        return next((path for path in paths if (self.directory / path).exists()), paths[0])

    def place(self, location: str) -> str | None:
        """A location of sources.yml as an inspection names it; None where its variables are not known here.

        Args:
            location: as written, with ``{{ var() }}`` and ``{{ env_var() }}``.
        """
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        try:
            rendered = environment.from_string(location).render(var=self._variable, env_var=_environment_variable)
        except (jinja2.TemplateError, LookupError, TypeError):
            return None
        parts = urlsplit(rendered)
        if parts.scheme in S3_SCHEMES:
            return f"s3a://{parts.netloc}/{parts.path.strip('/')}".rstrip("/")
        if parts.scheme == "file":
            return str(Path(parts.path).resolve())
        return rendered.rstrip("/") if "://" in rendered else str((self.directory / rendered).resolve())

    def _variable(self, name: str, default: Any = None) -> Any:
        if name not in self.variables and default is None:
            raise LookupError(name)
        return self.variables.get(name, default)


def _environment_variable(name: str, default: str | None = None) -> str:
    return os.environ[name] if default is None else os.environ.get(name, default)


def open_project(directory: Path) -> Project:
    """Read dbt_project.yml.

    Raises:
        AlluviumError: there is none, it cannot be read, or it has no name.
    """
    file = directory / "dbt_project.yml"
    if not file.is_file():
        raise AlluviumError(
            f"{directory} is no dbt project: it has no dbt_project.yml; say --project-dir, "
            "or make one with `alluvium new DIR`."
        )
    document = read_yaml(file)
    name = document.get("name") if isinstance(document, dict) else None
    if not isinstance(name, str) or not name:
        raise AlluviumError(f"{directory} is no dbt project: its dbt_project.yml has no name; say --project-dir.")
    paths = document.get("model-paths") or ["models"]
    variables = document.get("vars") or {}
    if not isinstance(paths, list) or not isinstance(variables, dict):
        raise AlluviumError(f"{file}: model-paths is no list, or vars no mapping; write them as dbt takes them.")
    own = variables.get(name)
    return Project(
        directory,
        name,
        tuple(str(path).rstrip("/") for path in paths),
        {**variables, **(own if isinstance(own, dict) else {})},
    )


def read_text(file: Path) -> str:
    """A file's text, its line ends as they are.

    Raises:
        AlluviumError: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise AlluviumError(f"{file} cannot be read ({error.strerror}): move it away, or mend it.") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AlluviumError(f"{file}, line {line}: a character is not in UTF-8; save the file in UTF-8.") from error


def read_yaml(file: Path) -> Any:
    """A file's document.

    Raises:
        AlluviumError: it cannot be read, or is no YAML of one document.
    """
    try:
        return yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "no YAML"
        raise AlluviumError(
            f"{file}{place}: {problem}; mend it as dbt reads it (one document, {{{{ }}}} in quotes), or move it away."
        ) from error


def newline_of(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def same_lines(text: str) -> str:
    """A text with the line ends that this command writes."""
    return text.replace("\r\n", "\n")
