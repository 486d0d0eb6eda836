"""The dbt project as one archive, and what runs it, in the stack's bucket."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError

from alluvium import AlluviumError
from alluvium.emr.aws import DENIED, bucket_is_gone, code
from alluvium.emr.following import Following
from alluvium.wording import INSTALL_WITH_LINKS

__all__ = [
    "ARCHIVE",
    "PREFIX",
    "TARGET",
    "WHEEL",
    "archive",
    "check_locations",
    "check_profile",
    "check_wheel",
    "files",
    "head",
    "is_bucket",
    "is_there",
    "require_bucket",
    "script",
    "upload",
]

PREFIX = "project/"
NOT_THERE = frozenset({"404", "NoSuchBucket", "NoSuchKey", "NotFound"})
ARCHIVE = "project.zip"
# Names the wheel that steps install, of those that are in the bucket.
WHEEL = "wheel.txt"
SCRIPT = Path(__file__).with_name("step.sh")
# Of a wheel: what deploy/emr/step.sh installs before it.
LOCKS = ("alluvium/emr/requirements.lock", "alluvium/emr/requirements-build.lock")
PROJECT = "dbt_project.yml"
PROFILES = "profiles.yml"
ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:")
# Of the profile: what deploy/emr/step.sh runs dbt with.
TARGET = "emr"
# Beside dbt_project.yml; those that a project has not are left out.
SINGLE = (PROJECT, PROFILES, "packages.yml", "dependencies.yml", "package-lock.yml", "selectors.yml")
DIRECTORIES = {
    "model-paths": ("models",),
    "macro-paths": ("macros",),
    "seed-paths": ("seeds",),
    "snapshot-paths": ("snapshots",),
}
TESTS = ("test-paths", ("tests",))
IGNORED = frozenset({"__pycache__", ".DS_Store"})
# The first that the format has: the same files make the same archive whenever they were written.
MODIFIED = (1980, 1, 1, 0, 0, 0)


def files(directory: Path) -> dict[str, Path]:
    """Files of a project that a build needs, by their path in it, in order.

    Args:
        directory: of dbt_project.yml.

    Raises:
        AlluviumError: there is no project, or its folders cannot be told.
    """
    settings = _project(directory)
    found = {name: directory / name for name in SINGLE if (directory / name).is_file()}
    folders = [directory / path for key, default in DIRECTORIES.items() for path in _paths(settings, key, default)]
    folders += [directory / path / "generic" for path in _paths(settings, *TESTS)]
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not IGNORED & set(path.parts):
                found[path.relative_to(directory).as_posix()] = path
    # Tests that are a query of their own lie beside `generic`; what else a project has there is not dbt's.
    for name in _paths(settings, *TESTS):
        found |= {file.relative_to(directory).as_posix(): file for file in (directory / name).glob("*.sql")}
    return dict(sorted(found.items()))


def check_profile(directory: Path) -> None:
    """Refuse a project whose profile a step could not run with.

    Args:
        directory: of dbt_project.yml.

    Raises:
        AlluviumError: there is no profiles.yml beside it, or no target for EMR in the project's profile.
    """
    copied = f"copy the target {TARGET}, with `everywhere`, from Alluvium's profiles.yml (docs/guide/emr.md)"
    path = directory / PROFILES
    if not path.is_file():
        raise AlluviumError(f"emr: {directory} has no {PROFILES}, and a step has no other; {copied}.")
    profiles, name = _yaml(path), _project(directory).get("profile")
    # dbt renders a name with Jinja; here it could be that of any profile.
    is_rendered = isinstance(name, str) and "{{" in name
    if not is_rendered and name not in profiles:
        raise AlluviumError(
            f"emr: {directory / PROJECT} has the profile {name}; allowed are those of {path}: {', '.join(profiles)}."
        )
    outputs = {one: _outputs(profile) for one, profile in profiles.items() if is_rendered or one == name}
    if not any(TARGET in targets for targets in outputs.values()):
        there = "; ".join(f"{one} has {', '.join(targets) or 'none'}" for one, targets in outputs.items())
        raise AlluviumError(f"emr: {path} has no target {TARGET} in the project's profile ({there}); {copied}.")


def check_locations(directory: Path) -> None:
    """Refuse sources whose files are on this machine: a cluster would find none, and build empty tables.

    A location with Jinja is known on the cluster alone, where one that is relative is refused.

    Args:
        directory: of dbt_project.yml.

    Raises:
        AlluviumError: there are such sources.
    """
    local = [
        f"{source} has {location}"
        for source, location in _locations(directory)
        if "{{" not in location and not ADDRESS.match(location)
    ]
    if local:
        raise AlluviumError(
            f"emr: external.location of {'; '.join(local)}; allowed are addresses that a cluster reaches, as "
            "s3://my-topics/shop."
        )


def _locations(directory: Path) -> Iterator[tuple[str, str]]:
    folders = _paths(_project(directory), "model-paths", DIRECTORIES["model-paths"])
    paths = [path for folder in folders for path in (directory / folder).rglob("*.y*ml")]
    for path in sorted(paths):
        for source in _members(_yaml(path), "sources"):
            for table in _members(source, "tables"):
                external = table.get("external")
                location = external.get("location") if isinstance(external, dict) else None
                if isinstance(location, str):
                    yield f"{source.get('name')}.{table.get('name')}", location


def _members(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    members = found.get(name)
    return [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []


def _outputs(profile: Any) -> list[str]:
    found = profile.get("outputs") if isinstance(profile, dict) else None
    return [str(name) for name in found] if isinstance(found, dict) else []


def _project(directory: Path) -> dict[str, Any]:
    path = directory / PROJECT
    if not path.is_file():
        raise AlluviumError(f"emr: {directory} has no {PROJECT}; name the project's directory with --project-dir.")
    return _yaml(path)


def _yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AlluviumError(f"emr: {path} is no YAML ({' '.join(str(error).split())}); mend it.") from error
    if not isinstance(found, dict):
        raise AlluviumError(f"emr: {path} has no names with values, as `name: shop`; 'dbt parse' says more.")
    return found


def _paths(settings: dict[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    found = settings.get(key)
    # dbt takes its default for a name without a value, too.
    if found is None:
        return default
    is_list = isinstance(found, list) and all(isinstance(path, str) for path in found)
    if not is_list or not all(_is_inside(path) for path in found):
        raise AlluviumError(
            f"emr: {PROJECT} has {key}: {found}; allowed is a list of folders inside the project, written out, since "
            "nothing else is uploaded."
        )
    return tuple(os.path.normpath(path) for path in found)


def _is_inside(path: str) -> bool:
    # By its text: a link in a project may lead outside, and what it leads to is uploaded.
    found = Path(os.path.normpath(path))
    return "{{" not in path and not found.is_absolute() and found.parts[:1] != (os.pardir,)


def archive(found: dict[str, Path]) -> bytes:
    """One zip of files: equal bytes for equal files.

    Args:
        found: files by their path in the archive.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        for name, path in sorted(found.items()):
            entry = zipfile.ZipInfo(name, MODIFIED)
            entry.external_attr = 0o644 << 16
            made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return written.getvalue()


def check_wheel(path: Path) -> None:
    """Refuse a file that is no wheel of Alluvium with its locked requirements.

    Args:
        path: of the file.

    Raises:
        AlluviumError: it is none.
    """
    if path.suffix != ".whl":
        raise AlluviumError(f"emr: --wheel {path} is no wheel; build one with 'pip wheel --no-deps .'.")
    if not path.is_file():
        raise AlluviumError(
            f"emr: --wheel {path}: there is no such file; 'pip wheel --no-deps --wheel-dir dist .' in a checkout of "
            "Alluvium makes one."
        )
    try:
        with zipfile.ZipFile(path) as read:
            names = set(read.namelist())
    except zipfile.BadZipFile as error:
        raise AlluviumError(f"emr: --wheel {path} cannot be read ({error}); build it anew.") from error
    if not names.issuperset(LOCKS):
        raise AlluviumError(
            f"emr: --wheel {path} has no {LOCKS[0]}; build it with 'pip wheel --no-deps .' in a checkout of Alluvium."
        )


def script() -> bytes:
    """The script of a step, of this version.

    Raises:
        AlluviumError: its link leads nowhere, as after a checkout without symbolic links.
    """
    try:
        content = SCRIPT.read_bytes()
    except OSError:
        content = b""
    if not content.startswith(b"#!"):
        raise AlluviumError(f"{SCRIPT} is no script: {INSTALL_WITH_LINKS}")
    return content


def is_there(s3: Any, bucket: str, key: str, content: bytes) -> bool:
    """Whether an object has this content, by the digest that S3 keeps of it.

    Args:
        s3: client of the region.
        bucket: its name.
        key: of the object.
        content: that it may have.

    Raises:
        ClientError: AWS refuses.
    """
    found = head(s3, bucket, key)
    return found is not None and bool(found.get("ChecksumSHA256") == _digest(content))


def head(s3: Any, bucket: str, key: str) -> dict[str, Any] | None:
    """What S3 says of an object, with its digest; None where there is none.

    Args:
        s3: client of the region.
        bucket: its name.
        key: of the object.

    Raises:
        ClientError: AWS refuses.
    """
    try:
        found: dict[str, Any] = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if code(error) in NOT_THERE:
            return None
        raise
    return found


def is_bucket(s3: Any, name: str) -> bool:
    """Whether there is a bucket; it may be of another account, which whoever asks is not allowed to look at.

    Args:
        s3: client of the region.
        name: of the bucket.

    Raises:
        ClientError: AWS refuses.
    """
    try:
        s3.head_bucket(Bucket=name)
    except ClientError as error:
        if code(error) in NOT_THERE:
            return False
        if code(error) not in DENIED:
            raise
    return True


def require_bucket(s3: Any, name: str, following: Following) -> None:
    """Refuse to go on without the bucket of a stack, which somebody has deleted.

    Args:
        s3: client of the region.
        name: of the bucket.
        following: commands that the error names.

    Raises:
        AlluviumError: it is not there.
        ClientError: AWS refuses.
    """
    if not is_bucket(s3, name):
        raise AlluviumError(bucket_is_gone(name, following))


def upload(s3: Any, bucket: str, key: str, content: bytes) -> None:
    """Write an object, of which S3 checks that it arrives as it is.

    Args:
        s3: client of the region.
        bucket: its name.
        key: of the object.
        content: to be written.

    Raises:
        ClientError: AWS refuses.
    """
    s3.put_object(Bucket=bucket, Key=key, Body=content, ChecksumAlgorithm="SHA256")


def _digest(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()
