"""The CloudFormation template, which the wheel has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from alluvium import AlluviumError
from alluvium.wording import INSTALL_WITH_LINKS

__all__ = ["Template", "shipped"]

FILE = Path(__file__).with_name("cluster.yaml")


@dataclass(frozen=True)
class Template:
    """A template in long form: without YAML's tags, so that any parser reads it.

    Attributes:
        body: the text.
    """

    body: str

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Declarations of the parameters by name."""
        return dict(self._document["Parameters"])

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Declarations of the resources by logical id."""
        return dict(self._document["Resources"])

    @cached_property
    def _document(self) -> dict[str, Any]:
        return dict(yaml.safe_load(self.body))

    def changed(self, parameters: dict[str, str]) -> dict[str, str]:
        """Those of a stack's parameters that are not as the template has them.

        Args:
            parameters: values by name.
        """
        return {
            name: parameters[name]
            for name, declared in self.parameters.items()
            if name in parameters and parameters[name] != str(declared.get("Default", ""))
        }

    def check_names(self, parameters: dict[str, str]) -> None:
        """Refuse parameters that the template has not.

        Args:
            parameters: values by name.

        Raises:
            AlluviumError: one is unknown.
        """
        for name in parameters:
            if name not in self.parameters:
                raise AlluviumError(f"emr: --parameter {name}: allowed are {', '.join(sorted(self.parameters))}.")


@cache
def shipped() -> Template:
    """The template of this version.

    Raises:
        AlluviumError: its link leads nowhere, as after a checkout without symbolic links.
    """
    try:
        body = FILE.read_text(encoding="utf-8")
    except OSError:
        body = ""
    if "Resources:" not in body:
        raise AlluviumError(f"{FILE} has no template: {INSTALL_WITH_LINKS}")
    return Template(body)
