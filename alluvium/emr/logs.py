"""Logs of steps, as EMR writes them below the cluster's LogUri."""

from __future__ import annotations

import gzip
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from alluvium import AlluviumError
from alluvium.emr.cluster import Cluster
from alluvium.emr.following import Following

__all__ = ["last_lines", "of_steps"]


def of_steps(s3: Any, cluster: Cluster) -> dict[str, list[str]]:
    """Which logs there are: names of files by id of the step.

    Args:
        s3: client of the region.
        cluster: whose logs.

    Raises:
        ClientError: AWS refuses.
    """
    bucket, prefix = _folder(cluster)
    found: dict[str, list[str]] = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for entry in page.get("Contents", []):
            step, _, name = entry["Key"].removeprefix(prefix).partition("/")
            found.setdefault(step, []).append(name.removesuffix(".gz"))
    return found


def last_lines(s3: Any, cluster: Cluster, step: str, name: str, count: int, following: Following) -> list[str]:
    """The end of one log.

    Args:
        s3: client of the region.
        cluster: whose log.
        step: id of the step.
        name: of the file: stderr, stdout, controller, syslog.
        count: of lines.
        following: commands that the error names.

    Raises:
        AlluviumError: there is no such log.
        ClientError: AWS refuses.
    """
    there = of_steps(s3, cluster).get(step, [])
    if name not in there:
        what = f"there are {', '.join(sorted(there))}" if there else "EMR writes them some minutes after a step"
        raise AlluviumError(
            f"emr: step {step} of {cluster.id} has no log {name}: {what}; '{following.command('logs')}' lists all."
        )
    bucket, prefix = _folder(cluster)
    body = s3.get_object(Bucket=bucket, Key=f"{prefix}{step}/{name}.gz")["Body"]
    # Read on and on: the log of a long step is larger than the memory that its end needs.
    with gzip.open(body, "rt", encoding="utf-8", errors="replace") as text:
        return [line.rstrip("\n") for line in deque(text, maxlen=count)]


def _folder(cluster: Cluster) -> tuple[str, str]:
    uri = urlsplit(cluster.log_uri)
    return uri.netloc, f"{uri.path.lstrip('/')}{cluster.id}/steps/"
