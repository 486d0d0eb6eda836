"""The CloudFormation stack: what it is like, what a change would do to it, and waiting until it is done."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from alluvium import AlluviumError
from alluvium.emr.aws import code
from alluvium.emr.following import Following
from alluvium.emr.template import CLUSTER, Template

__all__ = [
    "Change",
    "ChangeSet",
    "Stack",
    "apply",
    "delete",
    "differences",
    "discard",
    "find",
    "plan",
    "require",
    "watch",
]

SECONDS_BETWEEN_QUESTIONS = 15
# A cluster is there after a quarter of an hour; what CloudFormation itself takes hours for has gone wrong.
MINUTES_TO_WAIT = 90
# CloudFormation gives them to every resource that can have tags.
TAGS = [{"Key": "application", "Value": "alluvium"}]
BROKEN = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"})
REPLACEMENTS = {"True": "replace", "Conditional": "replace?"}
# CloudFormation's words for a change set that changes nothing; it has no code for that.
UNCHANGED = ("didn't contain changes", "No updates are to be performed")


@dataclass(frozen=True)
class Stack:
    """A stack.

    Attributes:
        id: ARN.
        name: as it was given.
        status: CloudFormation's word.
        reason: for the status; empty where there is none.
        parameters: values by name.
        outputs: values by name.
        resources: physical ids by logical ones.
        tags: values by name.
    """

    id: str
    name: str
    status: str
    reason: str
    parameters: dict[str, str]
    outputs: dict[str, str]
    resources: dict[str, str]
    tags: dict[str, str]

    @property
    def bucket(self) -> str | None:
        """Name of the bucket with the tables: the stack's, or the one that it has taken over."""
        return self.resources.get("DataBucket") or self.parameters.get("ExistingDataBucket") or None

    @property
    def cluster(self) -> str | None:
        """Id of the cluster."""
        return self.resources.get(CLUSTER)

    @property
    def is_new(self) -> bool:
        """Whether a first change set was made, and never executed."""
        return self.status == "REVIEW_IN_PROGRESS"

    @property
    def is_ours(self) -> bool:
        """Whether `alluvium emr up` has made it."""
        # CloudFormation may show none of a stack whose first change set was not executed.
        return self.is_new or all(self.tags.get(tag["Key"]) == tag["Value"] for tag in TAGS)

    @property
    def is_worked_on(self) -> bool:
        """Whether CloudFormation works on it."""
        return self.status.endswith("_IN_PROGRESS") and not self.is_new

    def next_step(self, following: Following) -> str:
        """What makes a cluster that runs of it.

        Args:
            following: commands that the answer names.
        """
        if self.is_new:
            return f"run '{following.creation()}'"
        return self._before_up(following) or f"run '{following.command('up')}'"

    def require_idle(self, following: Following) -> None:
        """Refuse to work on a stack that CloudFormation works on.

        Args:
            following: commands that the error names.

        Raises:
            AlluviumError: it does.
        """
        if self.is_worked_on:
            raise AlluviumError(f"emr: stack {self.name} is {self.status}; {self._before_up(following)}.")

    def require_updatable(self, following: Following) -> None:
        """Refuse to change a stack that CloudFormation changes no more.

        Args:
            following: commands that the error names.

        Raises:
            AlluviumError: its status allows none.
        """
        first = self._before_up(following)
        if first is not None:
            reason = f" ({self.reason})" if self.reason else ""
            raise AlluviumError(f"emr: stack {self.name} is {self.status}{reason}; {first}.")

    def _before_up(self, following: Following) -> str | None:
        if self.is_worked_on:
            return f"wait until that has ended, '{following.command('status')}' says when"
        if self.status in BROKEN:
            return f"it can only be deleted; run '{following.command('down')}', then '{following.creation()}'"
        if self.status == "UPDATE_ROLLBACK_FAILED":
            continued = following.aws("cloudformation", "continue-update-rollback", "--stack-name", self.name)
            return f"mend what the reason names, and run '{continued}'"
        return None


@dataclass(frozen=True)
class Change:
    """What happens to one resource.

    Attributes:
        action: add, modify, replace, remove, import; ``replace?`` where CloudFormation sees later whether it has to.
        resource: logical id.
        kind: CloudFormation's type.
    """

    action: str
    resource: str
    kind: str


@dataclass(frozen=True)
class ChangeSet:
    """What a change set would do.

    Attributes:
        id: ARN.
        stack: name of the stack.
        creates: whether the stack is new.
        changes: resources that change.
    """

    id: str
    stack: str
    creates: bool
    changes: tuple[Change, ...]

    def replaces(self, kind: str) -> bool:
        """Whether a resource of this type is replaced, or may be.

        Args:
            kind: CloudFormation's type.
        """
        return any(change.kind == kind and change.action.startswith("replace") for change in self.changes)


def find(cloudformation: Any, name: str) -> Stack | None:
    """Describe a stack; None where there is none.

    Args:
        cloudformation: client of the region.
        name: of the stack, or its ARN.

    Raises:
        AlluviumError: it is somebody else's, and nothing is done to it.
        ClientError: AWS refuses.
    """
    try:
        (found,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if code(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
    stack = Stack(
        id=found["StackId"],
        name=found["StackName"],
        status=found["StackStatus"],
        reason=found.get("StackStatusReason", ""),
        parameters={entry["ParameterKey"]: entry["ParameterValue"] for entry in found.get("Parameters", [])},
        outputs={entry["OutputKey"]: entry["OutputValue"] for entry in found.get("Outputs", [])},
        resources={
            entry["LogicalResourceId"]: entry["PhysicalResourceId"]
            for page in pages
            for entry in page["StackResourceSummaries"]
            # One that was deleted, or never came to be, is listed on.
            if entry.get("PhysicalResourceId") and entry["ResourceStatus"] not in {"DELETE_COMPLETE", "CREATE_FAILED"}
        },
        tags={entry["Key"]: entry["Value"] for entry in found.get("Tags", [])},
    )
    if not stack.is_ours:
        tag = f"{TAGS[0]['Key']}={TAGS[0]['Value']}"
        raise AlluviumError(
            f"emr: stack {stack.name} is somebody else's, since it lacks the tag {tag} of those of 'up'; name another "
            "with --stack."
        )
    return stack


def require(cloudformation: Any, following: Following, region: str) -> Stack:
    """Describe a stack that has to be there.

    Args:
        cloudformation: client of the region.
        following: says the name of the stack, and the commands that the error names.
        region: to be named in the error.

    Raises:
        AlluviumError: there is none.
        ClientError: AWS refuses.
    """
    found = find(cloudformation, following.stack)
    if found is None:
        raise AlluviumError(
            f"emr: there is no stack {following.stack} in {region}; '{following.creation()}' makes one, "
            "--stack and --region name another."
        )
    return found


def plan(
    cloudformation: Any, stack: Stack | None, following: Following, template: Template, given: dict[str, str]
) -> ChangeSet | None:
    """Have CloudFormation say what a template and parameters would change.

    Args:
        cloudformation: client of the region.
        stack: that is there; None for a new one.
        following: says the name of the stack, and the commands that the error names.
        template: that it is to have.
        given: parameters with new values; all others stay.

    Returns:
        the change set, which may change outputs or tags alone; None where nothing would change.

    Raises:
        AlluviumError: the change set fails.
        ClientError: AWS refuses.
    """
    creates = stack is None or stack.is_new
    values = [
        {"ParameterKey": key, "UsePreviousValue": True}
        if stack and not creates and key in stack.parameters and key not in given
        else {"ParameterKey": key, "ParameterValue": given.get(key, str(declared.get("Default", "")))}
        for key, declared in template.parameters.items()
    ]
    try:
        identity = cloudformation.create_change_set(
            StackName=following.stack,
            ChangeSetName=f"alluvium-{uuid.uuid4().hex}",
            ChangeSetType="CREATE" if creates else "UPDATE",
            TemplateBody=template.body,
            Parameters=values,
            Capabilities=["CAPABILITY_IAM"],
            Tags=TAGS,
        )["Id"]
    except ClientError as error:
        if _says_unchanged(str(error)):
            return None
        raise
    try:
        cloudformation.get_waiter("change_set_create_complete").wait(
            ChangeSetName=identity, WaiterConfig=_pace(SECONDS_BETWEEN_QUESTIONS / 5)
        )
    except WaiterError as error:
        reason = str(error.last_response.get("StatusReason", error))
        cloudformation.delete_change_set(ChangeSetName=identity)
        if _says_unchanged(reason):
            return None
        raise AlluviumError(
            f"emr: CloudFormation cannot change stack {following.stack} so ({reason.rstrip('.')}); "
            f"check --parameter, '{following.command('validate')}' checks the rest."
        ) from error
    pages = cloudformation.get_paginator("describe_change_set").paginate(ChangeSetName=identity)
    changes = tuple(
        _change(entry["ResourceChange"]) for page in pages for entry in page["Changes"] if entry["Type"] == "Resource"
    )
    return ChangeSet(identity, following.stack, creates, changes)


def apply(cloudformation: Any, change_set: ChangeSet, following: Following) -> None:
    """Execute a change set, and wait until the stack is as it says.

    Args:
        cloudformation: client of the region.
        change_set: that is there.
        following: commands that the error names.

    Raises:
        AlluviumError: the stack cannot be changed; with the first reason that CloudFormation gives.
        ClientError: AWS refuses.
    """
    cloudformation.execute_change_set(ChangeSetName=change_set.id)
    waiter = "stack_create_complete" if change_set.creates else "stack_update_complete"
    next_step = (
        f"run '{following.command('down')}', then the command again"
        if change_set.creates
        else "the stack is as it was before, mend that and run the command again"
    )
    _wait(cloudformation, waiter, change_set.stack, next_step, following)


def discard(cloudformation: Any, change_set: ChangeSet) -> None:
    """Delete a change set that is not to be executed.

    Args:
        cloudformation: client of the region.
        change_set: that is there.

    Raises:
        ClientError: AWS refuses.
    """
    cloudformation.delete_change_set(ChangeSetName=change_set.id)


def delete(cloudformation: Any, stack: Stack, following: Following) -> None:
    """Delete a stack, and wait until it is gone; what the template retains stays.

    Args:
        cloudformation: client of the region.
        stack: that is there.
        following: commands that the error names.

    Raises:
        AlluviumError: something cannot be deleted; with the first reason that CloudFormation gives.
        ClientError: AWS refuses.
    """
    # By its ARN: the name could be that of another one, once this one is gone.
    cloudformation.delete_stack(StackName=stack.id)
    next_step = f"mend that and run '{following.command('down')}' again"
    _wait(cloudformation, "stack_delete_complete", stack.id, next_step, following)


def differences(stack: Stack | None, before: Template | None, template: Template, given: dict[str, str]) -> list[str]:
    """What would change, as far as can be said without asking CloudFormation for a change set.

    Args:
        stack: that is there; None for a new one.
        before: template of that stack.
        template: that it is to have.
        given: parameters with new values.

    Returns:
        a line each.
    """
    old, new = before.resources if before else {}, template.resources
    lines = [f"add {_described(name, new[name])}" for name in new if name not in old]
    values = stack.parameters if stack else {}
    set_values = {key: value for key, value in given.items() if values.get(key) != value}
    replaced = template.replaces_cluster(before, set(set_values)) if before else False
    lines += [
        f"{'replace' if replaced and name == CLUSTER else 'modify'} {_described(name, new[name])}"
        for name in new
        if name in old and (new[name] != old[name] or (replaced and name == CLUSTER))
    ]
    lines += [f"remove {_described(name, old[name])}" for name in old if name not in new]
    return lines + [
        f"set {key} to {value!r}" + (f", it is {values[key]!r}" if key in values else "")
        for key, value in set_values.items()
    ]


def watch(cloudformation: Any, said: Callable[[str], None]) -> None:
    """Hear of the stack whenever a waiter asks for it.

    Args:
        cloudformation: the client that waits.
        said: called with the status, and how many resources are done.
    """

    def hear(parsed: dict[str, Any], **_: Any) -> None:
        for found in parsed.get("Stacks", []):
            pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=found["StackId"])
            states = [entry["ResourceStatus"] for page in pages for entry in page["StackResourceSummaries"]]
            done = sum(state.endswith("_COMPLETE") for state in states)
            said(f"{found['StackName']} {found['StackStatus']}, {done} of {len(states)} resources")

    cloudformation.meta.events.register("after-call.cloudformation.DescribeStacks", hear)


def _says_unchanged(text: str) -> bool:
    return any(words in text for words in UNCHANGED)


def _described(name: str, declared: dict[str, Any]) -> str:
    condition = f", where {declared['Condition']}" if "Condition" in declared else ""
    return f"{name} ({declared['Type']}{condition})"


def _change(entry: dict[str, Any]) -> Change:
    action = REPLACEMENTS.get(entry.get("Replacement", "False"), entry["Action"].lower())
    return Change(action, entry["LogicalResourceId"], entry["ResourceType"])


def _pace(seconds: float) -> dict[str, float]:
    attempts = 1000 if seconds == 0 else int(MINUTES_TO_WAIT * 60 / seconds)
    return {"Delay": seconds, "MaxAttempts": attempts}


def _wait(cloudformation: Any, waiter: str, name: str, next_step: str, following: Following) -> None:
    try:
        cloudformation.get_waiter(waiter).wait(StackName=name, WaiterConfig=_pace(SECONDS_BETWEEN_QUESTIONS))
    except WaiterError as error:
        answer = error.last_response
        if "Error" in answer:
            raise ClientError(answer, "DescribeStacks") from error
        (found,) = answer["Stacks"]
        status, shown = found["StackStatus"], found["StackName"]
        if "Max attempts" in str(error):
            raise AlluviumError(
                f"emr: stack {shown} is {status} after {MINUTES_TO_WAIT} minutes; "
                f"'{following.command('status')}' says how it goes on."
            ) from error
        reason = _first_failure(cloudformation, found["StackId"]) or found.get("StackStatusReason", "no reason given")
        raise AlluviumError(f"emr: stack {shown} is {status} ({reason}); {_quota(reason)}{next_step}.") from error


def _first_failure(cloudformation: Any, stack: str) -> str:
    """The oldest one of the last operation: those after it were cancelled for it."""
    first = ""
    for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
        for event in page["StackEvents"]:
            reason = event.get("ResourceStatusReason", "")
            if event["ResourceStatus"].endswith("_FAILED") and "cancelled" not in reason:
                first = f"{event['LogicalResourceId']}: {' '.join(reason.split()).rstrip('.')}"
            if event.get("PhysicalResourceId") == stack and reason == "User Initiated":
                return first
    return first


def _quota(reason: str) -> str:
    is_quota = any(word in reason.lower() for word in ("limit", "quota"))
    return "raise the quota in Service Quotas or take fewer nodes, " if is_quota else ""
