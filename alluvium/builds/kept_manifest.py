"""The project as dbt has parsed it, kept from build to build."""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt import plugins
from dbt.cli import requires
from dbt.contracts.graph.manifest import Manifest
from dbt.flags import get_flags
from dbt.task import runnable

# What dbt reads.
SUFFIXES = (".sql", ".yml", ".yaml", ".csv", ".md", ".py")
Files = frozenset[tuple[str, int, int, int]]


class KeptManifest:
    """Hands dbt a copy of the last manifest that it parsed, until a file of the project changes.

    A copy, because a build writes into its manifest and dbt (1.11) takes what it finds there for its own: a model with
    an ephemeral one behind it and a foreign key declared with `ref()` fail in the second build of one manifest.
    Written for dbt 1.11, whose functions it replaces while `used` lasts.
    """

    def __init__(self) -> None:
        self._files: Files | None = None
        self._parsed = b""
        self._is_written = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """Builds meanwhile parse only what has changed."""
        cli: Any = requires
        task: Any = runnable
        self._set_up, self._write = cli.setup_manifest, task.write_manifest
        cli.setup_manifest, task.write_manifest = self.set_up, self.write
        try:
            yield
        finally:
            cli.setup_manifest, task.write_manifest = self._set_up, self._write

    def set_up(self, context: Any, write: bool = True, write_perf_info: bool = False) -> None:
        """As dbt's function of that name: puts a manifest into the context of a command."""
        config = context.obj["runtime_config"]
        files = project_files(config)
        is_kept = files == self._files
        if is_kept:
            context.obj["manifest"] = unpacked(self._parsed)
        else:
            self._files, self._is_written = None, False
        self._set_up(context, write=write, write_perf_info=write_perf_info)
        if is_kept:
            # dbt asks the plugins when it parses; Alluvium's looks at the landed files.
            plugins.get_plugin_manager(config.project_name).get_manifest_artifacts(context.obj["manifest"])
        else:
            self._files, self._parsed = files, packed(context.obj["manifest"])

    def write(self, manifest: Manifest, target_path: str, which: str | None = None) -> None:
        """As dbt's function of that name, once for each time that dbt has parsed: it takes a second."""
        if not self._is_written or not Path(target_path, "manifest.json").is_file():
            self._write(manifest, target_path, which)
            self._is_written = True


def project_files(config: Any) -> Files:
    """What tells one state of a project's files, and of its packages', from another: names, times, lengths.

    The environment, which dbt tracks too, is that of this process and stays.

    Args:
        config: dbt's runtime configuration.
    """
    paths = {Path(get_flags().PROFILES_DIR, "profiles.yml")}  # type: ignore[no-untyped-call]  # dbt has no annotations
    for project in config.load_dependencies().values():
        root = Path(project.project_root)
        paths.update([*root.glob("*.yml"), root / ".dbtignore"])
        for part in {*project.all_source_paths, *project.docs_paths, *project.test_paths}:
            for folder, _, names in os.walk(root / part, followlinks=True):
                paths.update(Path(folder, name) for name in names if name.endswith(SUFFIXES))
    return frozenset(_state(path) for path in paths if path.is_file())


def _state(path: Path) -> tuple[str, int, int, int]:
    found = path.stat()
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def packed(manifest: Manifest) -> bytes:
    """A manifest as it is now. Not pickled itself: dbt's (1.11.2) `__reduce_ex__` mixes up its look-ups."""
    fields = [field.name for field in dataclasses.fields(manifest) if not field.name.startswith("_")]
    return pickle.dumps({name: getattr(manifest, name) for name in fields}, pickle.HIGHEST_PROTOCOL)


def unpacked(parsed: bytes) -> Manifest:
    """A copy of a packed manifest; 0.1 s for 1500 macros, and three times as long with the collector running."""
    gc.disable()
    try:
        return Manifest(**pickle.loads(parsed))
    finally:
        gc.enable()
