"""Commands that messages name: what is pasted goes to the same stack, in the same region."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from alluvium import AlluviumError

__all__ = ["DEFAULT_STACK", "Following"]

DEFAULT_STACK = "alluvium"
# As CloudFormation has it.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")


@dataclass(frozen=True)
class Following:
    """What a command was said to, for the commands that follow it.

    Attributes:
        stack: its name.
        region: that was said with --region; None where the environment says it, to the next command, too.

    Raises:
        AlluviumError: CloudFormation takes no such name of a stack.
    """

    stack: str = DEFAULT_STACK
    region: str | None = None

    def __post_init__(self) -> None:
        """Checks the name before AWS is asked."""
        if not NAME.fullmatch(self.stack):
            raise AlluviumError(
                f"emr: --stack {self.stack!r}: a name has letters, digits and hyphens, begins with a letter, and is at "
                "most 128 long."
            )

    def command(self, *words: str) -> str:
        """A command of `alluvium emr`.

        Args:
            words: its name and arguments.
        """
        stack = () if self.stack == DEFAULT_STACK else ("--stack", self.stack)
        return shlex.join(("alluvium", "emr", *words, *stack, *self._region))

    def creation(self) -> str:
        """The command that makes the stack, with what a new one needs."""
        return self.command("up", "--vpc", "VPC", "--subnet", "SUBNET")

    def aws(self, *words: str) -> str:
        """A command of AWS's own command line.

        Args:
            words: its name and arguments.
        """
        return shlex.join(("aws", *words, *self._region))

    @property
    def _region(self) -> tuple[str, ...]:
        return ("--region", self.region) if self.region else ()
