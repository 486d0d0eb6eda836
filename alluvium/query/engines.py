"""The engine of a target."""

from __future__ import annotations

from alluvium.runtime.profile import Target, ThriftTarget

from .engine import Engine


def engine_of(target: Target, *, may_write: bool, is_quiet: bool, keeps_output: bool) -> Engine:
    """The engine that runs statements on a target; it begins to start.

    Args:
        target: of the profile.
        may_write: whether statements that change something are run.
        is_quiet: whether the log of a Spark in this process is suppressed.
        keeps_output: whether what such a Spark prints is kept out of the standard output.
    """
    if isinstance(target, ThriftTarget):
        from .thrift import ThriftEngine

        return ThriftEngine(target, may_write=may_write)
    from .embedded import EmbeddedEngine

    return EmbeddedEngine(target, may_write=may_write, is_quiet=is_quiet, keeps_output=keeps_output)
