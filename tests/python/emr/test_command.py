"""`alluvium emr` in an account of moto's, as it is typed in."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import boto3
import pytest

from alluvium.emr import stack as stacks
from alluvium.emr import template

from .conftest import Network, Run, client, cluster, described
from .test_project import project, wheel

# Of moto, which knows no policies of buckets in stacks.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Tried to parse AWS")]


def test_up_makes_the_stack(network: Network, run: Run) -> None:
    code, output, errors = run("up", *network.options(), "--landing-bucket", "topics", "--idle-minutes", "30")
    assert code == 0, errors
    assert "add      Cluster (AWS::EMR::Cluster)" in output
    found = described()
    assert found.status == "CREATE_COMPLETE"
    assert found.parameters["LandingBucketArn"] == "arn:aws:s3:::topics"
    assert found.parameters["IdleTimeoutSeconds"] == "1800"
    asked = client("emr").describe_cluster(ClusterId=found.cluster)["Cluster"]
    assert (asked["Name"], asked["LogUri"]) == ("alluvium-1", f"s3://{found.bucket}/emr-logs/")


def test_up_takes_the_key_of_a_bucket(network: Network, run: Run) -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f"
    options = (*network.options(), "--landing-bucket", "topics", "--parameter", f"BucketKeyArn={key}")
    code, output, errors = run("up", *options)
    assert code == 0, errors
    assert "add      BucketKeyPolicy (AWS::IAM::Policy)" in output
    role = described().resources["InstanceRole"]
    policy = client("iam").get_role_policy(RoleName=role, PolicyName="bucket-key")["PolicyDocument"]
    assert policy["Statement"][0]["Resource"] == key


def test_up_with_nothing_new_does_nothing(deployed: stacks.Stack, run: Run) -> None:
    cluster(deployed.cluster).state = "WAITING"
    code, output, errors = run("up")
    assert (code, output, errors) == (0, "stack alluvium: nothing changes\n", "")
    assert described().status == deployed.status
    assert client("cloudformation").list_change_sets(StackName="alluvium")["Summaries"][1:] == []


def test_up_keeps_what_is_not_said(deployed: stacks.Stack, run: Run) -> None:
    cluster(deployed.cluster).state = "WAITING"
    code, _, errors = run("up", "--parameter", "MaximumInstanceCount=8")
    assert code == 0, errors
    assert described().parameters == {**deployed.parameters, "MaximumInstanceCount": "8"}


def test_more_core_nodes_than_nodes_are_refused(network: Network, run: Run, deployed: stacks.Stack) -> None:
    cluster(deployed.cluster).state = "WAITING"
    said = "CoreInstanceCount is 5; allowed are 1 to 4, which is MaximumInstanceCount"
    for new in (("--stack", "test", *network.options()), ()):
        for dry in ((), ("--dry-run",)):
            code, _, errors = run("up", "--parameter", "CoreInstanceCount=5", *new, *dry)
            assert (code, said in errors) == (1, True), errors
    both = ("--parameter", "CoreInstanceCount=5", "--parameter", "MaximumInstanceCount=5")
    said = "TaskInstanceCount is 1; allowed are 0 to 0, which is MaximumInstanceCount without CoreInstanceCount"
    assert said in run("up", "--dry-run", *both)[2]
    assert run("up", "--dry-run", *both, "--parameter", "TaskInstanceCount=0")[0] == 0


@pytest.mark.parametrize("arguments", [("--landing-bucket", "s3://topics"), ("--parameter", "MaximumInstanceCount=1")])
def test_values_are_checked_before_aws_is_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    for dry in ((), ("--dry-run",)):
        code, _, errors = run("up", *arguments, *dry)
        assert (code, ": allowed is " in errors) == (1, True), errors


def test_up_starts_another_cluster_after_the_end_of_one(deployed: stacks.Stack, run: Run) -> None:
    cluster(deployed.cluster).state = "TERMINATED"
    code, output, _ = run("up", "--dry-run")
    expected = "would replace Cluster (AWS::EMR::Cluster)\nwould set ClusterNumber to '2', it is '1'\n"
    assert (code, output) == (0, expected)
    run("up")
    assert described().parameters["ClusterNumber"] == "2"


@pytest.mark.parametrize("name", ["test", "alluvium"])
def test_dry_run_of_up_changes_nothing(network: Network, run: Run, name: str) -> None:
    code, output, _ = run("up", *network.options(), "--stack", name, "--dry-run")
    assert code == 0
    assert "would add DataBucket (AWS::S3::Bucket, where MakesDataBucket)" in output
    assert f"would set SubnetId to '{network.subnet}'" in output
    assert client("cloudformation").list_stacks()["StackSummaries"] == []


@pytest.mark.usefixtures("deployed")
def test_progress_counts_resources() -> None:
    said: list[str] = []
    watched = boto3.client("cloudformation")
    stacks.watch(watched, said.append)
    stacks.find(watched, "alluvium")
    count = len(watched.list_stack_resources(StackName="alluvium")["StackResourceSummaries"])
    assert said == [f"alluvium CREATE_COMPLETE, {count} of {count} resources"]


def test_dry_run_says_what_another_template_changes(deployed: stacks.Stack) -> None:
    shipped = template.shipped()
    other = template.Template(shipped.body.replace("VolumeKey", "Key").replace("TERMINATE_AT_TASK", "TERMINATE_AT_X"))
    assert stacks.differences(deployed, shipped, other, {}) == [
        "add Key (AWS::KMS::Key)",
        "modify SecurityConfiguration (AWS::EMR::SecurityConfiguration)",
        "replace Cluster (AWS::EMR::Cluster)",
        "remove VolumeKey (AWS::KMS::Key)",
    ]


@pytest.mark.parametrize(
    ("old", "new", "given", "replaced"),
    [
        ("", "", {"MaximumInstanceCount": "8", "IdleTimeoutSeconds": "60"}, False),
        ("", "", {"ReleaseLabel": "emr-7.10.0"}, False),  # as it is
        ("", "", {"ReleaseLabel": "emr-7.12.0"}, True),
        ("", "", {"ClusterNumber": "2"}, True),
        ("", "", {"TaskInstanceCount": "0"}, True),
        # Through a condition.
        ("", "", {"ExistingDataBucket": "other"}, True),
        ("VisibleToAllUsers: true", "VisibleToAllUsers: false", {}, False),
        ("MinimumInstanceMetadataServiceVersion: 2", "MinimumInstanceMetadataServiceVersion: 1", {}, True),
        ("EnableKeyRotation: true", "EnableKeyRotation: false", {}, False),
    ],
)
def test_dry_run_says_whether_the_cluster_is_replaced(
    deployed: stacks.Stack, old: str, new: str, given: dict[str, str], replaced: bool
) -> None:
    shipped = template.shipped()
    assert old in shipped.body
    other = template.Template(shipped.body.replace(old, new, 1)) if old else shipped
    lines = stacks.differences(deployed, shipped, other, given)
    assert ("replace Cluster (AWS::EMR::Cluster)" in lines) is replaced, lines
    assert stacks.differences(None, None, other, given)[0].startswith("add ")


def test_down_leaves_the_bucket_and_up_takes_it_over(deployed: stacks.Stack, run: Run) -> None:
    bucket = deployed.bucket
    code, output, _ = run("down", "--dry-run")
    assert code == 0
    assert "would delete Cluster" in output
    assert "would delete DataBucket" not in output
    assert described().status == "CREATE_COMPLETE"
    code, output, errors = run("down", "--yes")
    assert code == 0, errors
    assert f"stays    s3://{bucket}" in output
    assert stacks.find(client("cloudformation"), "alluvium") is None
    (_, again) = output.splitlines()[-1].split("alluvium emr ")
    code, _, errors = run(*shlex.split(again))
    assert code == 0, errors
    assert {entry["Name"] for entry in client("s3").list_buckets()["Buckets"]} == {bucket, "topics"}
    assert described().bucket == bucket


def test_what_is_pasted_goes_to_the_same_stack(network: Network, run: Run) -> None:
    where = ("--stack", "test", "--region", "eu-central-1")
    code, _, errors = run("up", *network.options(), "--landing-bucket", "topics", *where)
    assert code == 0, errors
    _, output, _ = run("down", "--yes", *where)
    assert output.splitlines()[-1].endswith(shlex.join(where))
    code, _, errors = run("status", *where)
    assert f"'alluvium emr up --vpc VPC --subnet SUBNET {shlex.join(where)}' makes one" in errors
    subnet = ("--vpc", network.vpc, "--subnet", network.untagged)
    assert "Value=true --region eu-central-1'." in run("up", *subnet, *where)[2]


def test_down_leaves_the_tables_of_glue(deployed: stacks.Stack, run: Run) -> None:
    glue, location = client("glue"), f"s3://{deployed.bucket}/warehouse/silver.db"
    glue.create_database(DatabaseInput={"Name": "silver", "LocationUri": location})
    table = {"Name": "slv_shop__orders_state", "StorageDescriptor": {"Location": f"{location}/slv_shop__orders_state"}}
    glue.create_table(DatabaseName="silver", TableInput=table)
    assert run("down", "--yes")[0] == 0
    found = glue.get_table(DatabaseName="silver", Name=table["Name"])["Table"]
    assert found["StorageDescriptor"]["Location"] == f"{location}/slv_shop__orders_state"
    assert deployed.bucket in {entry["Name"] for entry in client("s3").list_buckets()["Buckets"]}


@pytest.mark.parametrize("command", [("status",), ("logs",), ("validate",)])
def test_what_only_looks_takes_dry_run(deployed: stacks.Stack, run: Run, command: tuple[str, ...]) -> None:
    assert run(*command, "--dry-run") == run(*command)


NOT_DELETED = "alluvium: emr: stack alluvium is not deleted; say yes on a terminal, or --yes.\n"


@pytest.mark.usefixtures("deployed")
def test_down_says_what_it_deletes_and_asks_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def confirm(text: str) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    code, output, errors = run("down")
    assert (code, errors) == (1, NOT_DELETED)
    assert output.startswith("deletes  stack alluvium in eu-central-1, and of it\ndeletes  ")
    assert described().status == "CREATE_COMPLETE"
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    code, _, errors = run("down")
    assert (code, errors) == (1, NOT_DELETED)
    assert described().status == "CREATE_COMPLETE"
    assert run("down", "--yes")[0] == 0
    assert asked == ["go on?"]


def test_validate_looks_at_credentials_template_and_subnet(network: Network, run: Run) -> None:
    code, output, errors = run("validate", *network.options())
    assert (code, errors) == (0, "")
    assert [line.split()[0] for line in output.splitlines()] == ["credentials", "template", "subnet"]


def test_validate_takes_the_subnet_of_the_stack(deployed: stacks.Stack, network: Network, run: Run) -> None:
    code, output, _ = run("validate")
    assert code == 0
    assert f"{network.subnet} is in {network.vpc}" in output


def test_subnets_that_do_not_fit(network: Network, run: Run) -> None:
    public = client("ec2").create_subnet(VpcId=network.vpc, CidrBlock="10.0.2.0/24")["Subnet"]["SubnetId"]
    client("ec2").modify_subnet_attribute(SubnetId=public, MapPublicIpOnLaunch={"Value": True})
    for vpc, subnet, said in (
        ("vpc-1", network.subnet, f"say --vpc {network.vpc}."),
        (network.vpc, network.untagged, f"run 'aws ec2 create-tags --resources {network.untagged} --tags"),
        (network.vpc, public, "name a private one with --subnet."),
        (network.vpc, "subnet-00000000", "--subnet names one."),
    ):
        code, _, errors = run("up", "--vpc", vpc, "--subnet", subnet)
        assert (code, said in errors, errors.count("\n")) == (1, True, 1), errors
    assert client("cloudformation").list_stacks()["StackSummaries"] == []


def test_status(deployed: stacks.Stack, run: Run) -> None:
    emr = client("emr")
    cluster(deployed.cluster).state = "WAITING"
    emr.add_job_flow_steps(
        JobFlowId=deployed.cluster, Steps=[{"Name": "build", "HadoopJarStep": {"Jar": "command-runner.jar"}}]
    )
    code, output, errors = run("status")
    assert code == 0, errors
    assert "stack    alluvium CREATE_COMPLETE" in output
    assert f"cluster  {deployed.cluster} RUNNING" in output
    assert output.splitlines()[-1].endswith("build")
    cluster(deployed.cluster).state = "TERMINATED"
    assert run("status")[1].endswith("next     run 'alluvium emr up'\n")


def test_push_sends_what_is_new(deployed: stacks.Stack, run: Run, tmp_path: Path) -> None:
    directory = project(tmp_path / "shop")
    made = wheel(tmp_path / "dbt_alluvium-0.1.0-py3-none-any.whl")
    push = ("push", "--project-dir", str(directory), "--wheel", str(made))
    s3 = client("s3")
    assert run(*push, "--dry-run")[1].count("would upload") == 4
    lacks = "lacks    the wheel, which steps install; 'alluvium emr push --wheel WHEEL' uploads it\n"
    assert run(*push[:3], "--dry-run")[1].endswith(lacks)
    assert "Contents" not in s3.list_objects_v2(Bucket=deployed.bucket)
    assert run(*push)[1].count("uploaded") == 4
    assert run(*push)[1].count("is there") == 4
    wheel(made, "other")
    output = run(*push)[1]
    assert (output.count("uploaded"), output.count("is there")) == (1, 3)
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=deployed.bucket)["Contents"]]
    assert keys == [f"project/{made.name}", "project/project.zip", "project/step.sh", "project/wheel.txt"]
    named = s3.get_object(Bucket=deployed.bucket, Key="project/wheel.txt")["Body"].read()
    assert named.decode() == made.name
    output = run(*push[:3])[1]
    assert (output.count("is there"), "lacks" in output) == (2, False)


def test_bucket_that_was_deleted_is_said(deployed: stacks.Stack, run: Run, tmp_path: Path) -> None:
    client("s3").delete_bucket(Bucket=deployed.bucket)
    assert f"bucket   {deployed.bucket} (not there any more)\n" in run("status")[1]
    assert "stays" not in run("down", "--dry-run")[1]
    said = f"bucket {deployed.bucket} is not there any more, with what was in it; 'alluvium emr down', then 'alluvium"
    push = ("push", "--project-dir", str(project(tmp_path / "shop")))
    for command in (push, (*push, "--dry-run")):
        code, _, errors = run(*command)
        assert (code, said in errors) == (1, True), errors


def test_nothing_is_sent_without_a_profile(deployed: stacks.Stack, run: Run, tmp_path: Path) -> None:
    directory = project(tmp_path / "shop")
    (directory / "profiles.yml").write_text("shop: {outputs: {local: {}}}\n", encoding="utf-8")
    code, _, errors = run("push", "--project-dir", str(directory))
    assert (code, "has no target emr in the project's profile (shop has local)" in errors) == (1, True), errors
    assert "Contents" not in client("s3").list_objects_v2(Bucket=deployed.bucket)


def test_nothing_is_sent_with_files_of_this_machine(deployed: stacks.Stack, run: Run, tmp_path: Path) -> None:
    directory = project(tmp_path / "shop")
    sources = "sources: [{name: shop, tables: [{name: orders, external: {location: landing/shop}}]}]"
    (directory / "models" / "sources.yml").write_text(sources, encoding="utf-8")
    code, _, errors = run("push", "--project-dir", str(directory))
    assert (code, "shop.orders has landing/shop" in errors) == (1, True), errors
    assert "Contents" not in client("s3").list_objects_v2(Bucket=deployed.bucket)


def test_landing_bucket_has_to_be_there(network: Network, run: Run) -> None:
    for dry in ((), ("--dry-run",)):
        code, _, errors = run("up", *network.options(), "--landing-bucket", "topics-of-nobody", *dry)
        assert (code, "--landing-bucket topics-of-nobody: there is no such bucket" in errors) == (1, True), errors


def test_logs(deployed: stacks.Stack, run: Run) -> None:
    added = client("emr").add_job_flow_steps(
        JobFlowId=deployed.cluster, Steps=[{"Name": "build", "HadoopJarStep": {"Jar": "command-runner.jar"}}]
    )
    (step,) = added["StepIds"]
    assert "no logs below" in run("logs")[1]
    code, _, errors = run("logs", step)
    assert (code, "EMR writes them some minutes after a step" in errors) == (1, True)
    code, _, errors = run("logs", "s-nix")
    assert (code, f"there is no step s-nix on {deployed.cluster}; 'alluvium emr logs' lists all." in errors) == (
        1,
        True,
    )
    text = "".join(f"line {number} é\n" for number in range(1000))
    client("s3").put_object(
        Bucket=deployed.bucket,
        Key=f"emr-logs/{deployed.cluster}/steps/{step}/stderr.gz",
        Body=gzip.compress(text.encode()),
    )
    assert run("logs")[1].endswith("build  stderr\n")
    assert run("logs", step, "--lines", "2")[1] == "line 998 é\nline 999 é\n"
    code, _, errors = run("logs", step, "--file", "stdout")
    assert (code, "there are stderr" in errors) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("status",),
            "no stack alluvium in eu-central-1; 'alluvium emr up --vpc VPC --subnet SUBNET' makes one",
        ),
        (("status", "--stack", "my stack"), "--stack 'my stack': a name has letters, digits and hyphens"),
        (("down",), "there is no stack alluvium"),
        (("logs",), "there is no stack alluvium"),
        (("build",), "there is no stack alluvium"),
        (("serve", "--stop"), "there is no stack alluvium"),
        (("build", "--env", "secret"), "--env secret: write NAME=VALUE"),
        (
            ("up", "--landing-bucket", "s3://topics"),
            "--landing-bucket s3://topics: allowed is the name of",
        ),
        (
            ("up", "--parameter", "LandingBucketArn=x"),
            "LandingBucketArn=x: allowed is the name of a bucket",
        ),
        (("up", "--parameter", "ReleaseLabel=emr-6.1.0"), "allowed is a release of EMR 7, as emr-7.10.0."),
        (("up", "--parameter", "CoreInstanceType=m5xlarge"), "allowed is a type of instances"),
        (("up", "--parameter", "CoreInstanceCount=0"), "CoreInstanceCount=0: allowed is a whole number from 1."),
        (("up", "--parameter", "IdleTimeoutSeconds=1"), "allowed is a whole number from 60 to 604800."),
        (("up", "--parameter", "LogDays=a week"), "LogDays=a week: allowed is a whole number from 1."),
        (("up", "--stack", "my stack"), "--stack 'my stack': a name has letters, digits and hyphens"),
        (("build", "--command", "docs 'generate"), '--command "docs \'generate": No closing quotation;'),
        (("build", "--command", ""), "--command '': name a command of dbt"),
        (("build", "--", "--target", "local"), "--target: a step runs the uploaded project with the target emr"),
        (("build", "--command", "test --target=local"), "not allowed are --profile, --profiles-dir, --project-dir, "),
        (("build", "--", "-xtlocal"), "-xtlocal: a step runs"),
        (("build", "--", "--profiles-dir", "/x"), "--profiles-dir: a step runs"),
        (("build", "--env", "ALLUVIUM_FILE_FORMAT=Hudi"), "ALLUVIUM_FILE_FORMAT=Hudi: allowed are delta, hudi."),
        (("serve", "--env", "DBT_ENV_SECRET_X=1"), "--env DBT_ENV_SECRET_X=...: EMR shows the variables of a step"),
        (("build", "--", "--target-path", "x", "-s", "-stg_x"), "there is no stack alluvium"),
        (("up",), "say --vpc and --subnet"),
        (("validate",), "say --vpc and --subnet"),
        (("up", "--parameter", "Size=3"), "allowed are BucketKeyArn, ClusterNumber, "),
        (("up", "--parameter", "Size"), "write NAME=VALUE"),
        (("status", "--region", "eu-central1"), "a region is written like eu-central-1"),
        (("push", "--project-dir", "/nowhere"), "name the project's directory with --project-dir"),
    ],
)
def test_errors_say_the_next_step(account: None, run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, _, errors = run(*arguments)
    assert (code, said in errors, errors.count("\n")) == (1, True, 1), errors


def test_debug_shows_where(account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from alluvium import AlluviumError, cli

    monkeypatch.setattr("sys.argv", ["alluvium", "emr", "status", "--debug"])
    with pytest.raises(AlluviumError, match="there is no stack"):
        cli.main()


@pytest.mark.parametrize("command", ["validate", "up", "status", "down", "push", "build", "serve", "logs"])
def test_help_has_examples(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, output, _ = run(command, "--help")
    assert code == 0
    assert f" alluvium emr {command}" in output
    for option in ("--stack", "--region", "--debug"):
        assert option in output
    assert "--dry-run" in output
