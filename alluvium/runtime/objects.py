"""Objects below a local folder or an S3 prefix: listed and read alike."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from alluvium import AlluviumError
from alluvium.runtime import object_storage

if TYPE_CHECKING:
    from collections.abc import Iterator

S3_SCHEMES = ("s3", "s3a", "s3n")


class LocationError(AlluviumError):
    """A location cannot be looked at."""


class UnspelledNameError(LocationError):
    """Java cannot open a file, and Hadoop would skip it."""


class UnreadableObjectError(AlluviumError):
    """One object cannot be read, while others can."""


@dataclass(frozen=True)
class StoredObject:
    """One object.

    Attributes:
        path: below the location, with ``/`` between its parts; of a location that is one file, its name.
        length: in bytes.
        modified_at: when the storage says that it was written, in UTC.
    """

    path: str
    length: int
    modified_at: datetime


class Storage(Protocol):
    """A location whose objects can be listed and read.

    Attributes:
        location: folder, with the scheme as Spark names it (``s3a``) and without a slash at its end.
        file: name of the one object that was asked for, once the objects are listed; None of a folder.
    """

    location: str
    file: str | None

    def objects(self) -> Iterator[StoredObject]:
        """Every object, in no certain order; see is_hidden."""

    def above(self, folder: str) -> Iterator[str]:
        """The objects in each folder of this name beside the location or beside a folder above it: ``folder/name``.

        What may not be listed is left out: many users may list their own prefix only.
        """

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The object's content; of one that is longer than ``limit`` bytes, its first ones."""


def open_storage(location: str) -> Storage:
    """Open a location.

    Args:
        location: a local folder or file, or ``s3://bucket/prefix``; ``s3a`` and ``s3n`` are the same.

    Raises:
        LocationError: there is nothing at the location, or it is of a kind that cannot be read here.
    """
    if not location.strip():
        raise LocationError("PATH is empty; give the folder that the sink connector writes to, . for the current one.")
    parts = urlsplit(location)
    if parts.scheme in S3_SCHEMES:
        # A key may have ? and #, which end the path of other addresses.
        bucket, _, prefix = location.partition("://")[2].partition("/")
        if not bucket:
            raise LocationError(f"{location}: no bucket in it; write {parts.scheme}://bucket/prefix, with two slashes.")
        return S3Storage(bucket, prefix.strip("/"))
    if parts.scheme == "file":
        return LocalStorage(Path(unquote(parts.path)))
    if parts.scheme and "://" in location:
        raise LocationError(f"{location}: {parts.scheme}:// cannot be read; give a local folder or s3://bucket/prefix.")
    try:
        return LocalStorage(Path(location).expanduser())
    except RuntimeError as error:
        raise LocationError(f"{location}: no such user's home directory; give the folder's whole path.") from error


def is_hidden(path: str) -> bool:
    """Whether Spark leaves an object out: by a part of its path (HadoopFSUtils.shouldFilterOutPathName in 3.5.7)."""
    return any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith("._COPYING_")
        for part in PurePosixPath(path).parts
    )


class LocalStorage:
    """A folder, or one file.

    Args:
        root: of the folder or file.

    Raises:
        LocationError: there is nothing.
    """

    def __init__(self, root: Path) -> None:
        try:
            root.stat()
        except FileNotFoundError as error:
            raise LocationError(
                f"{root}: no such file or folder; give the folder that the sink connector writes to."
            ) from error
        except (OSError, ValueError) as error:
            raise _unlisted(root, error) from error
        self._file = None if root.is_dir() else root
        # The name of a link to a file says its topic, not that of the file.
        self._folder = root.parent.resolve() if self._file else root.resolve()
        self.location = str(self._folder)
        self.file = self._file.name if self._file else None

    def objects(self) -> Iterator[StoredObject]:
        """Files in the order of their paths; links to folders are followed, as Spark does.

        Raises:
            LocationError: a folder cannot be listed.
            UnspelledNameError: a name is no text.
        """
        if self._file:
            yield self._stored(self._folder / self._file.name)
            return

        def refuse(error: OSError) -> None:
            raise _unlisted(error.filename, error)

        for folder, folders, names in os.walk(self._folder, onerror=refuse, followlinks=True):
            folders[:] = sorted(name for name in folders if not _leads_back(Path(folder), name))
            for name in sorted(names):
                stored = self._stored(Path(folder) / name)
                if not is_hidden(stored.path):
                    _require_text(Path(folder) / name)
                yield stored

    def above(self, folder: str) -> Iterator[str]:
        """See Storage."""
        for parent in (self._folder, *self._folder.parents) if self._file else self._folder.parents:
            with suppress(OSError):
                yield from (f"{folder}/{path.name}" for path in (parent / folder).iterdir())

    def _stored(self, file: Path) -> StoredObject:
        try:
            status = file.stat()
        except OSError:
            # A link to nothing: reading it says so.
            status = file.lstat()
        written = datetime.fromtimestamp(status.st_mtime, timezone.utc)
        return StoredObject(file.relative_to(self._folder).as_posix(), status.st_size, written)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The file's content.

        Raises:
            UnreadableObjectError: it may not be read, or is a link to nothing, a pipe or a device.
        """
        file = self._folder / path
        try:
            # Opening a pipe waits for who writes into it.
            if not stat.S_ISREG(file.stat().st_mode):
                raise UnreadableObjectError("no regular file")
            with file.open("rb") as opened:
                return opened.read(-1 if limit is None else limit)
        except OSError as error:
            raise UnreadableObjectError(f"cannot be read: {error.strerror}") from error


def _unlisted(path: Path | str, error: OSError | ValueError) -> LocationError:
    reason = error.strerror if isinstance(error, OSError) else error
    return LocationError(f"{path} cannot be looked at: {reason}; allow it to be listed, or give another folder.")


def _require_text(file: Path) -> None:
    # Python keeps bytes that are none as lone surrogates.
    try:
        str(file).encode()
    except UnicodeEncodeError:
        charset = sys.getfilesystemencoding()
        shown = os.fsencode(file).decode(charset, "backslashreplace")
        raise UnspelledNameError(
            f"{shown}: the name is not {charset}, so Spark would skip the file: rename it."
        ) from None


def _leads_back(folder: Path, name: str) -> bool:
    """Whether a link leads to a folder on the way to it."""
    link = folder / name
    return link.is_symlink() and link.resolve() in {above.resolve() for above in (folder, *folder.parents)}


class S3Storage:
    """A prefix of a bucket, with the credentials and endpoint of boto3's standard chain; AWS_REGION is the region, too.

    Args:
        bucket: its name.
        prefix: without slashes around it; may be one object's whole key.

    Raises:
        LocationError: profile, region or endpoint are none.
    """

    def __init__(self, bucket: str, prefix: str) -> None:
        import boto3
        from botocore.exceptions import BotoCoreError

        self._bucket = bucket
        self._prefix = prefix
        try:
            self._client: Any = boto3.client("s3", region_name=object_storage.region(os.environ))
        except (BotoCoreError, ValueError) as error:
            raise self._refused("reached", error) from error
        self._listed = f"{prefix}/" if prefix else ""
        self.file: str | None = None
        self.location = f"s3a://{bucket}/{prefix}".rstrip("/")

    def objects(self) -> Iterator[StoredObject]:
        """Objects in the order of their keys, page by page.

        Raises:
            LocationError: there is none, or the bucket cannot be listed.
        """
        found = False
        for stored in self._below(self._listed):
            found = True
            yield stored
        if found:
            return
        folder, _, name = self._prefix.rpartition("/")
        self._listed = f"{folder}/" if folder else ""
        self.location = f"s3a://{self._bucket}/{folder}".rstrip("/")
        single = [stored for stored in self._below(self._prefix) if stored.path == name]
        if not name or not single:
            raise LocationError(
                f"s3://{self._bucket}/{self._prefix}: no object there; give the prefix that the sink writes to."
            )
        self.file = name
        yield from single

    def above(self, folder: str) -> Iterator[str]:
        """See Storage; of each folder its first 1,000 objects."""
        from botocore.exceptions import BotoCoreError, ClientError

        *parents, _ = accumulate(f"{part}/" for part in ("", *self._prefix.split("/")))
        for parent in parents:
            # The root of a bucket has no name.
            listed = f"{parent}{folder}/".removeprefix("/")
            with suppress(BotoCoreError, ClientError):
                page = self._client.list_objects_v2(Bucket=self._bucket, Prefix=listed)
                yield from (f"{folder}/{entry['Key'].removeprefix(listed)}" for entry in page.get("Contents", []))

    def _below(self, prefix: str) -> Iterator[StoredObject]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                for entry in page.get("Contents", []):
                    if not entry["Key"].endswith("/"):
                        path = entry["Key"].removeprefix(self._listed)
                        yield StoredObject(path, entry["Size"], entry["LastModified"])
        except (BotoCoreError, ClientError) as error:
            raise self._refused("listed", error) from error

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The object's content; no more of it than asked for is transferred.

        Raises:
            LocationError: it cannot be read: so it is with all others.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        wanted = {} if limit is None else {"Range": f"bytes=0-{limit - 1}"}
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._listed + path, **wanted)
            content: bytes = answer["Body"].read()
        except (BotoCoreError, ClientError) as error:
            raise self._refused(f"read ({path})", error) from error
        return content

    def _refused(self, what: str, error: Exception) -> LocationError:
        # Of a name that is none the pattern is not said.
        reason = " ".join(str(error).split()).partition(": Bucket name must match")[0].rstrip(".")
        return LocationError(
            f"s3://{self._bucket}/{self._prefix} cannot be {what}: {reason}. Check the bucket's name, the credentials "
            "(AWS_PROFILE, AWS_ACCESS_KEY_ID), the region, the endpoint, and that s3:ListBucket and s3:GetObject are "
            "allowed."
        )
