"""Where a project has a source, its models, their YAML and descriptions: dbt goes by names, not by files."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alluvium import AlluviumError

from .project import read_text, read_yaml, same_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .project import Project

_DESCRIPTION = re.compile(r"{%-?\s*docs\s+(\w+)\s*-?%}(.*?){%-?\s*enddocs\s*-?%}", re.DOTALL)


class Places:
    """Paths of a source's files below the project: where they are, or else where new ones go.

    Args:
        project: that they belong to.
        source: name of the dbt source.
        force: whether a YAML that cannot be read is passed over where the source is sought.
    """

    def __init__(self, project: Project, source: str, *, force: bool) -> None:
        self._project = project
        self._source = source
        self._force = force
        self._contents: dict[str, bytes] = {}
        self._documents: dict[str, Any] = {}

    def sources(self) -> str:
        """Of the YAML that declares the source.

        Raises:
            AlluviumError: it is in two of them, or one that may have it cannot be read.
        """
        found = list(self._yaml_with("sources", self._source))
        if len(found) > 1:
            raise AlluviumError(
                f"source {self._source} is declared in {' and in '.join(found)}: put all of its tables into one."
            )
        usual = self._project.model_path(f"bronze/{self._source}/_{self._source}__sources.yml")
        return found[0] if found else usual

    def model(self, name: str) -> str:
        """Of a model's SQL."""
        usual = self._project.model_path(f"silver/{self._source}/{name}.sql")
        if (self._project.directory / usual).exists():
            return usual
        return next((path for path in self._files if path.endswith(f"/{name}.sql")), usual)

    def yaml_of_model(self, name: str, entity: str) -> str:
        """Of the YAML that has a model; of one that none has, that of its entity, beside its change log.

        Args:
            name: of the model.
            entity: that it belongs to.

        Raises:
            AlluviumError: one that may have it cannot be read.
        """
        folder = self.model(f"stg_{self._source}__{entity}").rpartition("/")[0]
        usual = f"{folder}/{self._source}__{entity}.yml"
        if (self._project.directory / usual).exists() and name in names_in(self.document(usual), "models"):
            return usual
        return next(self._yaml_with("models", name), usual)

    def descriptions(self) -> str:
        """Of the file that has the columns' descriptions."""
        usual = self._project.model_path(f"_docs/{self._source}.md")
        if (self._project.directory / usual).exists():
            return usual
        return next((path for path, texts in self._descriptions.items() if texts), usual)

    def is_of_others(self, path: str) -> bool:
        """Whether a file has descriptions of other sources, too."""
        return any(not name.startswith(f"{self._source}__") for name in self._texts_in(path))

    def texts_outside(self, path: str) -> set[str]:
        """Names of descriptions that other files have."""
        return {name for other, texts in self._descriptions.items() if other != path for name in texts}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The descriptions of the source's columns that are there, by name."""
        return {name: text for texts in self._descriptions.values() for name, text in texts.items()}

    def document(self, path: str) -> Any:
        """What a YAML says.

        Raises:
            AlluviumError: it cannot be read.
        """
        if path not in self._documents:
            self._documents[path] = read_yaml(self._project.directory / path)
        return self._documents[path]

    @cached_property
    def _descriptions(self) -> dict[str, dict[str, str]]:
        prefix = f"{self._source}__"
        return {
            path: {name: text for name, text in self._texts_in(path).items() if name.startswith(prefix)}
            for path in self._mentioning(prefix, (".md",))
        }

    def _texts_in(self, path: str) -> dict[str, str]:
        return dict(_DESCRIPTION.findall(same_lines(read_text(self._project.directory / path))))

    def _yaml_with(self, kind: str, name: str) -> Iterator[str]:
        for path in self._mentioning(name, (".yml", ".yaml")):
            if kind.encode() in self._contents[path]:
                try:
                    names = names_in(self.document(path), kind)
                except AlluviumError:
                    # A model that it has would be described twice.
                    if not self._force or kind == "models":
                        raise
                    continue
                if name in names:
                    yield path

    def _mentioning(self, name: str, ends: tuple[str, ...]) -> Iterator[str]:
        """Files with a name in them: to read each as YAML takes long in a large project."""
        for path in self._files:
            if path.endswith(ends):
                if path not in self._contents:
                    self._contents[path] = (self._project.directory / path).read_bytes()
                if name.encode() in self._contents[path]:
                    yield path

    @cached_property
    def _files(self) -> list[str]:
        """All below the directories of models, through links too, as dbt has it."""
        found = []
        for path in self._project.model_paths:
            root = self._project.directory / path
            files = [Path(folder, name) for folder, _, names in os.walk(root, followlinks=True) for name in names]
            found += sorted(f"{path}/{file.relative_to(root).as_posix()}" for file in files if file.is_file())
        return found


def names_in(document: Any, kind: str) -> list[Any]:
    """Names of the sources or models that a YAML has.

    Args:
        document: of the YAML.
        kind: ``sources`` or ``models``.
    """
    entries = document.get(kind) if isinstance(document, dict) else None
    return [entry.get("name") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
