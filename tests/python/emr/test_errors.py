"""What AWS refuses, in one sentence: answers that moto does not give, held against botocore's models."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from alluvium.emr import aws, template
from alluvium.emr.project import is_bucket

from .conftest import Run

Answers = Callable[[str], Stubber]
ARN = "arn:aws:cloudformation:eu-central-1:123456789012:stack/alluvium/1"
CHANGE_SET = "arn:aws:cloudformation:eu-central-1:123456789012:changeSet/alluvium-1/1"
NOW = datetime(2024, 5, 1, tzinfo=timezone.utc)
NETWORK = ("--vpc", "vpc-1", "--subnet", "subnet-1")


def stack(status: str, **more: Any) -> dict[str, Any]:
    tags = [{"Key": "application", "Value": "alluvium"}]
    return {
        "StackId": ARN,
        "StackName": "alluvium",
        "StackStatus": status,
        "CreationTime": NOW,
        "Tags": [] if status == "REVIEW_IN_PROGRESS" else tags,
        **more,
    }


def resource(name: str, identity: str) -> dict[str, Any]:
    return {
        "LogicalResourceId": name,
        "PhysicalResourceId": identity,
        "ResourceType": "AWS::X",
        "ResourceStatus": "CREATE_COMPLETE",
        "LastUpdatedTimestamp": NOW,
    }


def event(name: str, status: str, reason: str, identity: str = "x") -> dict[str, Any]:
    return {
        "StackId": ARN,
        "EventId": f"{name}-{status}",
        "StackName": "alluvium",
        "Timestamp": NOW,
        "LogicalResourceId": name,
        "PhysicalResourceId": identity,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


def is_there(answers: Answers, found: dict[str, Any], *resources: dict[str, Any]) -> Stubber:
    cloudformation = answers("cloudformation")
    cloudformation.add_response("describe_stacks", {"Stacks": [found]}, {"StackName": "alluvium"})
    cloudformation.add_response(
        "list_stack_resources", {"StackResourceSummaries": list(resources)}, {"StackName": "alluvium"}
    )
    return cloudformation


def is_not_there(answers: Answers) -> Stubber:
    cloudformation = answers("cloudformation")
    cloudformation.add_client_error("describe_stacks", "ValidationError", "Stack with id alluvium does not exist", 400)
    return cloudformation


def subnet_fits(answers: Answers) -> None:
    tags = [{"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}]
    answers("ec2").add_response(
        "describe_subnets",
        {"Subnets": [{"SubnetId": "subnet-1", "VpcId": "vpc-1", "Tags": tags}]},
        {"SubnetIds": ["subnet-1"]},
    )


def refused(run: Run, *arguments: str) -> str:
    code, _, errors = run(*arguments)
    assert (code, errors.count("\n")) == (1, 1), errors
    assert errors.startswith("alluvium: emr: ")
    return errors


@pytest.mark.parametrize(
    ("status", "command", "said"),
    [
        ("ROLLBACK_COMPLETE", "up", "can only be deleted; run 'alluvium emr down', then 'alluvium emr up --vpc VPC"),
        ("DELETE_FAILED", "up", "run 'alluvium emr down', then 'alluvium emr up --vpc VPC --subnet SUBNET'."),
        ("UPDATE_ROLLBACK_FAILED", "up", "run 'aws cloudformation continue-update-rollback --stack-name alluvium'."),
        ("CREATE_IN_PROGRESS", "up", "wait until that has ended, 'alluvium emr status' says when."),
        ("UPDATE_ROLLBACK_IN_PROGRESS", "up", "wait until that has ended"),
        ("DELETE_IN_PROGRESS", "down", "wait until that has ended"),
        ("ROLLBACK_COMPLETE", "push", "has no bucket; it can only be deleted; run 'alluvium emr down', then"),
        ("ROLLBACK_COMPLETE", "logs", "has no cluster; it can only be deleted; run 'alluvium emr down', then"),
        ("CREATE_COMPLETE", "build", "has no cluster; run 'alluvium emr up'."),
        ("REVIEW_IN_PROGRESS", "push", "has no bucket; run 'alluvium emr up --vpc VPC --subnet SUBNET'."),
    ],
)
def test_stack_in_a_bad_state(
    answers: Answers, run: Run, repository: str, status: str, command: str, said: str
) -> None:
    is_there(answers, stack(status))
    directory = ("--project-dir", repository) if command == "push" else ()
    assert said in refused(run, command, *directory)


@pytest.mark.parametrize("tags", [[], [{"Key": "application", "Value": "payroll"}]])
@pytest.mark.parametrize("command", ["up", "down", "push", "build", "serve", "status", "logs", "validate"])
def test_stack_of_somebody_else_is_left_alone(
    answers: Answers, run: Run, repository: str, command: str, tags: list[dict[str, str]]
) -> None:
    """The stubbed answers are all that is asked: nothing is changed, nor deleted."""
    if command == "validate":
        answers("sts").add_response("get_caller_identity", {"Arn": "arn:aws:iam::123456789012:user/x"})
        answers("cloudformation").add_response("validate_template", {})
    is_there(answers, stack("CREATE_COMPLETE", Tags=tags), resource("Cluster", "j-1"))
    options = {"up": (*NETWORK, "--yes"), "down": ("--yes",), "push": ("--project-dir", repository)}
    said = refused(run, command, *options.get(command, ()))
    assert "stack alluvium is somebody else's, since it lacks the tag application=alluvium" in said


def test_bucket_that_is_not_there_is_said(answers: Answers, run: Run) -> None:
    is_not_there(answers)
    subnet_fits(answers)
    answers("s3").add_client_error("head_bucket", "404", "Not Found", 404, expected_params={"Bucket": "tables-of-ours"})
    said = refused(run, "up", *NETWORK, "--parameter", "ExistingDataBucket=tables-of-ours")
    assert "--parameter ExistingDataBucket=tables-of-ours: there is no such bucket; 'aws s3 ls' lists all." in said


def test_bucket_of_another_account_is_there(answers: Answers) -> None:
    s3 = answers("s3")
    s3.add_client_error("head_bucket", "403", "Forbidden", 403, expected_params={"Bucket": "topics-of-others"})
    assert is_bucket(aws.Clients().s3, "topics-of-others")


def test_answer_of_a_proxy_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_port}")
        said = refused(run, "status")
        proxy.shutdown()
    assert "emr: what answers is not AWS" in said
    assert "check the proxy, AWS_ENDPOINT_URL and --region." in said


class Page(BaseHTTPRequestHandler):
    """Answers each question with a page that is no XML."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html><p>Sign in</html>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the library has it
        """Nothing."""


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        ("AccessDenied", "User x may not perform cloudformation:DescribeStacks", "does not allow DescribeStacks"),
        ("ExpiredToken", "The security token is expired", "sign in with 'aws configure' or 'aws sso login'"),
        ("InvalidClientTokenId", "The token is invalid.", "sign in with"),
        ("UnrecognizedClientException", "Invalid token.", "a region that the account has not enabled."),
        ("Throttling", "Rate exceeded", "run the command again in a minute."),
        ("RequestLimitExceeded", "Request limit exceeded.", "run the command again in a minute."),
        ("ValidationError", "1 error detected", "AWS refuses DescribeStacks (ValidationError: 1 error detected)"),
    ],
)
def test_aws_refuses(answers: Answers, run: Run, code: str, message: str, said: str) -> None:
    answers("cloudformation").add_client_error("describe_stacks", code, message, 400)
    assert said in refused(run, "status")


def test_quota_of_stacks(answers: Answers, run: Run) -> None:
    cloudformation = is_not_there(answers)
    subnet_fits(answers)
    cloudformation.add_client_error("create_change_set", "LimitExceededException", "2000 stacks.", 400)
    assert "raise it in Service Quotas" in refused(run, "up", *NETWORK)


def test_no_credentials(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "there are no AWS credentials; sign in with" in refused(run, "status")


def test_no_region(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "no AWS region is set; say --region, or set AWS_REGION." in refused(run, "status")


def test_region_is_the_one_that_is_said_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """boto3 does not read AWS_REGION."""
    (tmp_path / "config").write_text("[default]\nregion = us-east-2\n", encoding="utf-8")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert aws.Clients("eu-west-3").region == "eu-west-3"
    assert aws.Clients().region == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "")
    assert aws.Clients().region == "eu-central-1"
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert aws.Clients().region == "us-east-2"


def test_unknown_region_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central1")
    assert "AWS has no region eu-central1; --region or AWS_REGION says one" in refused(run, "status")


def test_unknown_profile(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "AWS_PROFILE is nobody" in refused(run, "status")


def test_aws_is_not_reached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert "check --region and the network." in refused(run, "status")


def creates(answers: Answers) -> Stubber:
    """Up to the moment at which the waiter asks."""
    cloudformation = is_not_there(answers)
    subnet_fits(answers)
    shipped = template.shipped()
    given = {"VpcId": "vpc-1", "SubnetId": "subnet-1"}
    cloudformation.add_response(
        "create_change_set",
        {"Id": CHANGE_SET},
        {
            "StackName": "alluvium",
            "ChangeSetName": ANY,
            "ChangeSetType": "CREATE",
            "TemplateBody": shipped.body,
            "Parameters": [
                {"ParameterKey": name, "ParameterValue": given.get(name, str(declared.get("Default", "")))}
                for name, declared in shipped.parameters.items()
            ],
            "Capabilities": ["CAPABILITY_IAM"],
            "Tags": [{"Key": "application", "Value": "alluvium"}],
        },
    )
    return cloudformation


def planned(cloudformation: Stubber, *changes: dict[str, Any], then: str = "execute_change_set") -> None:
    entries = [{"Type": "Resource", "ResourceChange": change} for change in changes]
    for status in ("CREATE_IN_PROGRESS", "CREATE_COMPLETE", "CREATE_COMPLETE"):
        answer = {"ChangeSetId": CHANGE_SET, "Status": status, "Changes": entries}
        cloudformation.add_response("describe_change_set", answer, {"ChangeSetName": CHANGE_SET})
    cloudformation.add_response(then, {}, {"ChangeSetName": CHANGE_SET})


def is_running(answers: Answers, identity: str, *names: str) -> None:
    """A cluster, and steps on it where their names are given."""
    emr = answers("emr")
    status = {"State": "RUNNING"}
    described = {"Id": identity, "Name": "alluvium-1", "Status": status, "LogUri": "s3n://tables/emr-logs/"}
    emr.add_response("describe_cluster", {"Cluster": described}, {"ClusterId": identity})
    emr.add_response("list_instances", {"Instances": []})
    if names:
        steps = [
            {"Id": f"s-{number}", "Name": name, "Status": status, "Config": {"Args": []}}
            for number, name in enumerate(names, 1)
        ]
        emr.add_response("list_steps", {"Steps": steps}, {"ClusterId": identity})


def has_step(answers: Answers, name: str, *, is_asked: bool = True) -> Stubber:
    """A stack with a cluster on which a step runs, up to the moment at which a change set is planned."""
    cloudformation = is_there(answers, stack("CREATE_COMPLETE"), resource("Cluster", "j-1"))
    is_running(answers, "j-1")
    cloudformation.add_response("create_change_set", {"Id": CHANGE_SET})
    if is_asked:
        is_running(answers, "j-1", name)
    return cloudformation


MODIFIED = {"Action": "Modify", "LogicalResourceId": "Cluster", "ResourceType": "AWS::EMR::Cluster"}
ADDED = {"Action": "Add", "LogicalResourceId": "Cluster", "ResourceType": "AWS::EMR::Cluster"}


def test_creation_that_fails_names_the_first_reason(answers: Answers, run: Run) -> None:
    cloudformation = creates(answers)
    planned(cloudformation, ADDED)
    for status in ("CREATE_IN_PROGRESS", "ROLLBACK_COMPLETE"):
        cloudformation.add_response("describe_stacks", {"Stacks": [stack(status)]}, {"StackName": "alluvium"})
    cloudformation.add_response(
        "describe_stack_events",
        {
            "StackEvents": [
                event("VolumeKey", "CREATE_FAILED", "Resource creation cancelled"),
                event("Cluster", "CREATE_FAILED", "The vCPU limit of the account is reached."),
                event("alluvium", "CREATE_IN_PROGRESS", "User Initiated", ARN),
                event("Cluster", "CREATE_FAILED", "Of an operation before."),
            ]
        },
        {"StackName": ARN},
    )
    assert refused(run, "up", *NETWORK).endswith(
        "stack alluvium is ROLLBACK_COMPLETE (Cluster: The vCPU limit of the account is reached); raise the quota in "
        "Service Quotas or take fewer nodes, run 'alluvium emr down', then the command again.\n"
    )


def test_change_set_that_fails(answers: Answers, run: Run) -> None:
    cloudformation = creates(answers)
    failed = {"ChangeSetId": CHANGE_SET, "Status": "FAILED", "StatusReason": "Parameter X is wrong."}
    cloudformation.add_response("describe_change_set", failed, {"ChangeSetName": CHANGE_SET})
    cloudformation.add_response("delete_change_set", {}, {"ChangeSetName": CHANGE_SET})
    assert "(Parameter X is wrong); check --parameter" in refused(run, "up", *NETWORK)


@pytest.mark.parametrize(
    "reason",
    [
        "The submitted information didn't contain changes. Submit different information.",
        "No updates are to be performed.",
    ],
)
def test_nothing_changes(answers: Answers, run: Run, reason: str) -> None:
    cloudformation = is_there(answers, stack("CREATE_COMPLETE"))
    cloudformation.add_response("create_change_set", {"Id": CHANGE_SET})
    failed = {"ChangeSetId": CHANGE_SET, "Status": "FAILED", "StatusReason": reason}
    cloudformation.add_response("describe_change_set", failed, {"ChangeSetName": CHANGE_SET})
    cloudformation.add_response("delete_change_set", {}, {"ChangeSetName": CHANGE_SET})
    is_there(answers, stack("CREATE_COMPLETE"))
    assert run("up") == (0, "stack alluvium: nothing changes\n", "")


def test_replacement_is_said_and_outputs_are_printed(answers: Answers, run: Run) -> None:
    cloudformation = creates(answers)
    planned(cloudformation, ADDED, {**ADDED, "Action": "Modify", "Replacement": "True"})
    cloudformation.add_response("describe_stacks", {"Stacks": [stack("CREATE_COMPLETE")]}, {"StackName": "alluvium"})
    outputs = [{"OutputKey": "ClusterId", "OutputValue": "j-1"}]
    is_there(answers, stack("CREATE_COMPLETE", Outputs=outputs))
    code, output, _ = run("up", *NETWORK)
    assert (code, output.splitlines()) == (
        0,
        ["add      Cluster (AWS::EMR::Cluster)", "replace  Cluster (AWS::EMR::Cluster)", "ClusterId: j-1"],
    )


@pytest.mark.parametrize("replacement", ["True", "Conditional"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alluvium serve", "end it with 'alluvium emr serve --stop', or say --yes"),
        ("dbt build", "wait for its end, or say --yes"),
    ],
)
def test_cluster_on_which_a_step_runs_is_not_replaced(
    answers: Answers, run: Run, replacement: str, name: str, said: str
) -> None:
    cloudformation = has_step(answers, name)
    planned(cloudformation, {**MODIFIED, "Replacement": replacement}, then="delete_change_set")
    output = refused(run, "up")
    assert f"cluster j-1 would be replaced, and step s-1 ({name}) is RUNNING there; {said}." in output
    cloudformation.assert_no_pending_responses()


def test_cluster_is_changed_or_replaced_all_the_same(answers: Answers, run: Run) -> None:
    for option, replacement in (((), "False"), (("--yes",), "True")):
        cloudformation = has_step(answers, "dbt build", is_asked=False)
        planned(cloudformation, {**MODIFIED, "Replacement": replacement})
        cloudformation.add_response("describe_stacks", {"Stacks": [stack("UPDATE_COMPLETE")]})
        is_there(answers, stack("UPDATE_COMPLETE"))
        assert run("up", *option)[0] == 0
        cloudformation.assert_no_pending_responses()


def test_deletion_names_the_step_that_it_ends(answers: Answers, run: Run) -> None:
    is_there(answers, stack("CREATE_COMPLETE"), resource("Cluster", "j-1"))
    is_running(answers, "j-1", "dbt build")
    code, output, _ = run("down", "--dry-run")
    assert (code, output.splitlines()[-1]) == (0, "would end step s-1 (dbt build), which is RUNNING")


def test_deletion_that_fails(answers: Answers, run: Run) -> None:
    cloudformation = is_there(answers, stack("CREATE_COMPLETE"))
    cloudformation.add_response("delete_stack", {}, {"StackName": ARN})
    for status in ("DELETE_IN_PROGRESS", "DELETE_FAILED"):
        cloudformation.add_response("describe_stacks", {"Stacks": [stack(status)]}, {"StackName": ARN})
    cloudformation.add_response(
        "describe_stack_events",
        {"StackEvents": [event("ClusterSecurityGroup", "DELETE_FAILED", "It has a dependent object")]},
        {"StackName": ARN},
    )
    said = refused(run, "down", "--yes")
    assert "(ClusterSecurityGroup: It has a dependent object); mend that and run 'alluvium emr down' again." in said


def test_status_says_how_to_reach_the_cluster(answers: Answers, run: Run) -> None:
    is_there(answers, stack("CREATE_COMPLETE"), resource("Cluster", "j-1"), resource("DataBucket", "tables"))
    answers("s3").add_response("head_bucket", {}, {"Bucket": "tables"})
    emr = answers("emr")
    described = {
        "Id": "j-1",
        "Name": "alluvium-1",
        "Status": {"State": "WAITING", "StateChangeReason": {"Message": "Cluster ready"}},
        "ReleaseLabel": "emr-7.10.0",
        "LogUri": "s3n://tables/emr-logs/",
    }
    emr.add_response("describe_cluster", {"Cluster": described}, {"ClusterId": "j-1"})
    emr.add_response(
        "list_instances",
        {"Instances": [{"Ec2InstanceId": "i-1"}]},
        {"ClusterId": "j-1", "InstanceGroupTypes": ["MASTER"], "InstanceStates": ["RUNNING"]},
    )
    emr.add_response("list_steps", {"Steps": []}, {"ClusterId": "j-1"})
    code, output, _ = run("status")
    assert (code, output.splitlines()) == (
        0,
        [
            "stack    alluvium CREATE_COMPLETE",
            "bucket   tables",
            "cluster  j-1 WAITING (Cluster ready), emr-7.10.0",
            "reach    aws ssm start-session --region eu-central-1 --target i-1 --document-name "
            "AWS-StartPortForwardingSession --parameters portNumber=18080,localPortNumber=18080",
        ],
    )


def test_cluster_that_emr_has_forgotten(answers: Answers, run: Run) -> None:
    is_there(answers, stack("CREATE_COMPLETE"), resource("Cluster", "j-1"))
    answers("emr").add_client_error("describe_cluster", "InvalidRequestException", "Cluster id 'j-1' is not valid.")
    output = "stack    alluvium CREATE_COMPLETE\nbucket   none\ncluster  none\nnext     run 'alluvium emr up'\n"
    assert run("status")[:2] == (0, output)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("CREATE_IN_PROGRESS", "wait until that has ended, 'alluvium emr status' says when"),
        ("ROLLBACK_COMPLETE", "it can only be deleted; run 'alluvium emr down', then 'alluvium emr up --vpc VPC"),
        ("UPDATE_ROLLBACK_FAILED", "run 'aws cloudformation continue-update-rollback --stack-name alluvium'"),
    ],
)
def test_status_names_no_command_that_is_refused(answers: Answers, run: Run, status: str, said: str) -> None:
    is_there(answers, stack(status))
    assert said in run("status")[1].splitlines()[-1]


@pytest.fixture
def repository() -> str:
    from .test_template import REPOSITORY

    return str(REPOSITORY)
