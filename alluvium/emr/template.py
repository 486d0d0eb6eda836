"""The CloudFormation template, which the wheel has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from alluvium import AlluviumError
from alluvium.wording import INSTALL_WITH_LINKS

__all__ = ["CLUSTER", "Template", "shipped"]

FILE = Path(__file__).with_name("cluster.yaml")
CLUSTER = "Cluster"
# Of a cluster these alone change in place; CloudFormation's reference has "Replacement" with all others.
CHANGED_IN_PLACE = frozenset(
    {"AutoTerminationPolicy", "ManagedScalingPolicy", "StepConcurrencyLevel", "Tags", "VisibleToAllUsers"}
)
# Any change makes another one, with another name, and so another cluster.
REPLACED = frozenset({"AWS::EMR::SecurityConfiguration"})


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

    def replaces_cluster(self, before: Template, parameters: set[str]) -> bool:
        """Whether CloudFormation replaces the cluster of a stack that is to have this template.

        Args:
            before: the stack's template.
            parameters: names of those that get another value.
        """
        old, new = (one.resources.get(CLUSTER, {}).get("Properties", {}) for one in (before, self))
        kept = {name: value for name, value in new.items() if name not in CHANGED_IN_PLACE}
        if not old or kept != {name: value for name, value in old.items() if name not in CHANGED_IN_PLACE}:
            return bool(old)
        named = set(self._named(kept))
        return bool(named & parameters) or any(
            declared["Type"] in REPLACED and name in named and declared != before.resources.get(name)
            for name, declared in self.resources.items()
        )

    def _named(self, value: Any) -> Iterator[str]:
        """Parameters and resources that a value names, also through conditions."""
        if isinstance(value, list):
            for part in value:
                yield from self._named(part)
        elif isinstance(value, dict):
            for key, part in value.items():
                if key == "Ref":
                    yield part
                elif key == "Fn::GetAtt":
                    yield part[0]
                elif key == "Fn::Sub":
                    yield from re.findall(r"\$\{(\w+)", part)
                elif key == "Fn::If":
                    yield from self._named([self._document["Conditions"][part[0]], *part[1:]])
                else:
                    yield from self._named(part)

    def check(self, parameters: Mapping[str, str], said: Mapping[str, str] = MappingProxyType({})) -> None:
        """Refuse parameters that the template has not, and values that it does not allow.

        Args:
            parameters: values by name.
            said: the option and value as they were typed, for those that were not given as a parameter.

        Raises:
            AlluviumError: one is unknown, or its value is not allowed.
        """
        for name, value in parameters.items():
            if name not in self.parameters:
                raise AlluviumError(f"emr: --parameter {name}: allowed are {', '.join(sorted(self.parameters))}.")
            allowed = _allowed(self.parameters[name], value)
            if allowed is not None:
                raise AlluviumError(f"emr: {said.get(name, f'--parameter {name}={value}')}: allowed is {allowed}.")

    def check_counts(self, parameters: Mapping[str, str]) -> None:
        """Refuse more nodes to begin with than nodes, which no constraint of a template can say.

        Args:
            parameters: values by name; the template's own where there is none.

        Raises:
            AlluviumError: there would be more.
        """
        core, task, most = (
            int(parameters.get(name, str(self.parameters[name]["Default"])))
            for name in ("CoreInstanceCount", "TaskInstanceCount", "MaximumInstanceCount")
        )
        if core > most:
            raise AlluviumError(
                f"emr: CoreInstanceCount is {core}; allowed are 1 to {most}, which is MaximumInstanceCount: say both "
                "with --parameter."
            )
        if core + task > most:
            raise AlluviumError(
                f"emr: TaskInstanceCount is {task}; allowed are 0 to {most - core}, which is MaximumInstanceCount "
                "without CoreInstanceCount: say them with --parameter."
            )


def _allowed(declared: dict[str, Any], value: str) -> str | None:
    """What a value may be, where it is something else; None of one that is allowed."""
    if declared["Type"] == "Number":
        least, most = declared.get("MinValue", 0), declared.get("MaxValue")
        # All that the template counts is whole.
        is_number = value.isascii() and value.isdecimal()
        if is_number and int(value) >= least and (most is None or int(value) <= most):
            return None
        return f"a whole number from {least}" + ("" if most is None else f" to {most}")
    pattern = declared.get("AllowedPattern")
    if pattern is not None and not re.search(pattern, value):
        return str(declared["ConstraintDescription"])
    return None


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
