"""The cluster of a stack, and its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from alluvium.emr.aws import code

__all__ = ["Cluster", "Step", "find", "step", "steps"]

ENDED = frozenset({"TERMINATED", "TERMINATED_WITH_ERRORS"})
STEP_ENDED = frozenset({"COMPLETED", "CANCELLED", "FAILED", "INTERRUPTED"})


@dataclass(frozen=True)
class Cluster:
    """A cluster as EMR describes it.

    Attributes:
        id: EMR's.
        name: stack and number.
        state: EMR's word.
        reason: for the state; empty where EMR has none.
        release: label.
        log_uri: where EMR writes logs, with a slash at its end.
        primary_instance: id of the primary node, as long as it runs.
    """

    id: str
    name: str
    state: str
    reason: str
    release: str
    log_uri: str
    primary_instance: str | None

    @property
    def has_ended(self) -> bool:
        """Whether it never runs again."""
        return self.state in ENDED

    @property
    def is_ending(self) -> bool:
        """Whether it runs nothing more."""
        return self.has_ended or self.state == "TERMINATING"


@dataclass(frozen=True)
class Step:
    """A step of a cluster.

    Attributes:
        id: EMR's.
        name: what it does.
        state: EMR's word.
        reason: for the state; empty where EMR has none.
        arguments: of its program.
    """

    id: str
    name: str
    state: str
    reason: str
    arguments: tuple[str, ...]

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self.state in STEP_ENDED


def find(emr: Any, cluster: str) -> Cluster | None:
    """Describe a cluster; None of one that EMR has forgotten, two months after its end.

    Args:
        emr: client of the region.
        cluster: its id.

    Raises:
        ClientError: AWS refuses.
    """
    try:
        found = emr.describe_cluster(ClusterId=cluster)["Cluster"]
    except ClientError as error:
        if code(error) == "InvalidRequestException":
            return None
        raise
    status = found["Status"]
    instances = emr.get_paginator("list_instances").paginate(
        ClusterId=cluster, InstanceGroupTypes=["MASTER"], InstanceStates=["RUNNING"]
    )
    running = [instance["Ec2InstanceId"] for page in instances for instance in page["Instances"]]
    return Cluster(
        id=found["Id"],
        name=found["Name"],
        state=status["State"],
        reason=status.get("StateChangeReason", {}).get("Message", ""),
        release=found.get("ReleaseLabel", ""),
        # EMR answers with the scheme that Hadoop had for S3 before.
        log_uri=found["LogUri"].replace("s3n://", "s3://", 1).rstrip("/") + "/",
        primary_instance=running[0] if running else None,
    )


def steps(emr: Any, cluster: str) -> list[Step]:
    """All steps of a cluster, the newest first.

    Args:
        emr: client of the region.
        cluster: its id.

    Raises:
        ClientError: AWS refuses.
    """
    pages = emr.get_paginator("list_steps").paginate(ClusterId=cluster)
    return [_step(found) for page in pages for found in page["Steps"]]


def step(emr: Any, cluster: str, identity: str) -> Step:
    """One step.

    Args:
        emr: client of the region.
        cluster: its id.
        identity: of the step.

    Raises:
        ClientError: there is no such step, or AWS refuses.
    """
    return _step(emr.describe_step(ClusterId=cluster, StepId=identity)["Step"])


def _step(found: dict[str, Any]) -> Step:
    status = found["Status"]
    details = status.get("FailureDetails", {})
    # "Unknown Error" is what EMR says where it has found nothing in the logs.
    known = {details.get("Reason", ""), details.get("Message", "")} - {"", "Unknown Error"}
    said = status.get("StateChangeReason", {}).get("Message", "")
    return Step(
        id=found["Id"],
        name=found["Name"],
        state=status["State"],
        reason=" ".join("; ".join(sorted(known) or [said]).split()).rstrip("."),
        arguments=tuple(found.get("Config", {}).get("Args", ())),
    )
