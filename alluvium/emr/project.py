"""The dbt project as one archive, and what runs it, in the stack's bucket."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError

from alluvium import AlluviumError
from alluvium.emr.aws import code
from alluvium.wording import INSTALL_WITH_LINKS

__all__ = ["ARCHIVE", "PREFIX", "WHEEL", "archive", "check_wheel", "files", "head", "is_there", "script", "upload"]

PREFIX = "project/"
NOT_THERE = frozenset({"404", "NoSuchKey", "NotFound"})
ARCHIVE = "project.zip"
# Names the wheel that steps install, of those that are in the bucket.
WHEEL = "wheel.txt"
SCRIPT = Path(__file__).with_name("step.sh")
# Of a wheel: what deploy/emr/step.sh installs before it.
LOCKS = ("alluvium/emr/requirements.lock", "alluvium/emr/requirements-build.lock")
PROJECT = "dbt_project.yml"
# Beside dbt_project.yml; those that a project has not are left out.
SINGLE = (PROJECT, "profiles.yml", "packages.yml", "dependencies.yml", "package-lock.yml", "selectors.yml")
DIRECTORIES = {
    "model-paths": ("models",),
    "macro-paths": ("macros",),
    "seed-paths": ("seeds",),
    "snapshot-paths": ("snapshots",),
}
IGNORED = frozenset({"__pycache__", ".DS_Store"})
# The first that the format has: the same files make the same archive whenever they were written.
MODIFIED = (1980, 1, 1, 0, 0, 0)


def files(directory: Path) -> dict[str, Path]:
    """Files of a project that a build needs, by their path in it, in order.

    Args:
        directory: of dbt_project.yml.

    Raises:
        AlluviumError: there is no project.
    """
    project = directory / PROJECT
    if not project.is_file():
        raise AlluviumError(f"emr: {directory} has no {PROJECT}; name the project's directory with --project-dir.")
    settings = yaml.safe_load(project.read_text(encoding="utf-8")) or {}
    found = {name: directory / name for name in SINGLE if (directory / name).is_file()}
    folders = [directory / path for key, default in DIRECTORIES.items() for path in settings.get(key, default)]
    folders += [directory / path / "generic" for path in settings.get("test-paths", ("tests",))]
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not IGNORED & set(path.parts):
                found[path.relative_to(directory).as_posix()] = path
    # Tests that are a query of their own lie beside `generic`; what else a project has there is not dbt's.
    for path in settings.get("test-paths", ("tests",)):
        found |= {file.relative_to(directory).as_posix(): file for file in (directory / path).glob("*.sql")}
    return dict(sorted(found.items()))


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
