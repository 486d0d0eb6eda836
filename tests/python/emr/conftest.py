"""An account that is not there: moto's, and answers that moto does not give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from botocore.loaders import create_loader
from botocore.stub import Stubber
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.emr.models import Cluster, emr_backends

from alluvium import cli
from alluvium.emr import aws, stack

REGION = "eu-central-1"
# A session of botocore reads its models from the disk; those of the tests share one.
SESSION: list[boto3.Session] = []
CLIENTS: dict[str, Any] = {}
LOADER = create_loader()
Run = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True)
class Network:
    """Where a cluster may be: ids of a VPC and a subnet with EMR's tag, and of one without."""

    vpc: str
    subnet: str
    untagged: str

    def options(self) -> tuple[str, ...]:
        return ("--vpc", self.vpc, "--subnet", self.subnet)


def client(service: str) -> Any:
    """A client of moto's account, made once."""
    if service not in CLIENTS:
        SESSION[:] = SESSION or [boto3.Session("tests", "tests", region_name=REGION)]
        CLIENTS[service] = SESSION[0].client(service)
    return CLIENTS[service]


def described(name: str = "alluvium") -> stack.Stack:
    found = stack.find(client("cloudformation"), name)
    assert found is not None
    return found


def cluster(identity: str | None) -> Any:
    """moto's own record: it ends clusters of stacks at once, as it does not read that they are to be kept alive."""
    assert identity is not None
    return emr_backends[DEFAULT_ACCOUNT_ID][REGION].clusters[identity]


def replaced(
    cls: Any,
    original_resource: Any,
    new_resource_name: str,
    cloudformation_json: Any,
    account_id: str,
    region_name: str,
) -> Any:
    """Another cluster, as after a change of its name or release."""
    return cls.create_from_cloudformation_json(new_resource_name, cloudformation_json, account_id, region_name)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the account of whoever runs the tests, and no pause between two questions."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setattr(stack, "SECONDS_BETWEEN_QUESTIONS", 0)
    # Each session would read the list of all endpoints anew.
    monkeypatch.setattr("botocore.session.create_loader", lambda _: LOADER)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(aws.Clients, "_client", lambda _, service: client(service))
    # moto takes the template apart at each request; libyaml does that in a tenth of the time.
    monkeypatch.setattr("yaml.Loader", yaml.CLoader)
    # Without it, a stack of moto's has no cluster after the first change.
    monkeypatch.setattr(Cluster, "update_from_cloudformation_json", classmethod(replaced))
    with mock_aws():
        yield


@pytest.fixture
def network(account: None) -> Network:
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet, untagged = (
        ec2.create_subnet(VpcId=vpc, CidrBlock=block)["Subnet"]["SubnetId"] for block in ("10.0.0.0/24", "10.0.1.0/24")
    )
    ec2.create_tags(Resources=[subnet], Tags=[{"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}])
    client("s3").create_bucket(Bucket="topics", CreateBucketConfiguration={"LocationConstraint": REGION})
    return Network(vpc, subnet, untagged)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Exit code, output and errors of `alluvium emr`."""

    def typed(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["alluvium", "emr", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return typed


@pytest.fixture
def deployed(network: Network, run: Run) -> stack.Stack:
    code, _, errors = run("up", *network.options(), "--landing-bucket", "topics")
    assert code == 0, errors
    return described()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Stubber]]:
    """A client's answers, in order: botocore holds them and what is asked against its models."""
    made: dict[str, tuple[Any, Stubber]] = {}

    def of(service: str) -> Stubber:
        if service not in made:
            made[service] = client(service), Stubber(client(service))
            made[service][1].activate()
        return made[service][1]

    def stubbed(_: aws.Clients, service: str) -> Any:
        of(service)
        return made[service][0]

    monkeypatch.setattr(aws.Clients, "_client", stubbed)
    yield of
    for _, stubber in made.values():
        stubber.deactivate()
        stubber.assert_no_pending_responses()
