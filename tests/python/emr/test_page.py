"""docs/guide/emr.md: each of its commands, in its order, in an account of moto's."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from alluvium.emr import command, steps
from alluvium.emr import stack as stacks
from alluvium.server.hosting import PORT as THRIFT_PORT
from docs.guide import GUIDE, blocks, text

from .conftest import Network, Run, client, cluster
from .test_project import project, wheel
from .test_template import DOCUMENT, REPOSITORY

pytestmark = pytest.mark.filterwarnings("ignore:Tried to parse AWS")

PAGE = GUIDE / "emr.md"
WHEEL = "dist/dbt_alluvium-0.1.0-py3-none-any.whl"
STEP, BUCKET = "s-1A2B3C4D5E6F7", "alluvium-databucket-1a2b3c4d"


def commands() -> list[list[str]]:
    lines = [line for block in blocks(PAGE, "bash") for line in block.body.splitlines()]
    return [shlex.split(line) for line in lines]


def test_every_command_of_the_page_runs(
    network: Network, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dist").mkdir()
    wheel(Path(WHEEL))
    project(tmp_path)
    replaced = {"vpc-0a1b2c3d": network.vpc, "subnet-0a1b2c3d": network.subnet, "my-topics": "topics"}
    seen = set()
    for words in commands():
        words = [replaced.get(word, word) for word in words]
        if words[0] == "aws":
            assert words[1:3] == ["ec2", "create-tags"]
            continue
        assert words[:2] == ["alluvium", "emr"]
        seen.add(words[2])
        found = stacks.find(
            client("cloudformation"), words[words.index("--stack") + 1] if "--stack" in words else "alluvium"
        )
        if words[2] in {"build", "serve"}:
            assert found is not None
            cluster(found.cluster).state = "WAITING"
            monkeypatch.setattr("alluvium.emr.steps.sleep", goes_on(found))
        if words[2] == "logs" and STEP in words:
            assert found is not None
            replaced[STEP] = step(found)
        if found is not None and found.bucket is not None:
            replaced[f"ExistingDataBucket={BUCKET}"] = f"ExistingDataBucket={found.bucket}"
        words = [replaced.get(word, word) for word in words]
        # It asks on a terminal.
        agreed = ["--yes"] if words[2] == "down" and "--dry-run" not in words else []
        code, _, errors = run(*words[2:], *agreed)
        assert code == 0, f"{shlex.join(words)}: {errors}"
    assert seen == {"validate", "up", "status", "push", "build", "serve", "logs", "down"}
    found = stacks.find(client("cloudformation"), "alluvium")
    buckets = {entry["Name"] for entry in client("s3").list_buckets()["Buckets"]}
    assert buckets == {"topics"} | (set() if found is None else {found.bucket})


def goes_on(found: stacks.Stack) -> Callable[[float], None]:
    """A build is completed, a server listens, and is completed when it is asked to end."""

    def sleep(_: float) -> None:
        last = cluster(found.cluster).steps[-1]
        s3, key = client("s3"), f"project/server/{last.args[2]}"
        there = s3.list_objects_v2(Bucket=found.bucket, Prefix=key)
        if last.name != steps.SERVE or there["KeyCount"] == 2:
            last.state = "COMPLETED"
        elif last.state == "PENDING":
            last.state = "RUNNING"
        else:
            s3.put_object(Bucket=found.bucket, Key=key)

    return sleep


def step(found: stacks.Stack) -> str:
    """One that has printed something, with the logs that EMR writes of it."""
    assert found.cluster is not None
    assert found.bucket is not None
    asked = steps.request(found.cluster, found.bucket, "eu-central-1", "dbt", ["build"], token="t1")
    identity = steps.add(client("emr"), asked)
    s3 = client("s3")
    s3.put_object(Bucket=found.bucket, Key="emr-logs/alluvium/t1.log", Body=b"Done. PASS=2\n")
    key = f"emr-logs/{found.cluster}/steps/{identity}/controller.gz"
    s3.put_object(Bucket=found.bucket, Key=key, Body=gzip.compress(b"done\n"))
    return identity


def test_commands_stand_in_blocks_that_are_run() -> None:
    """In the text there is the command's name, and nothing to be typed in."""
    known = {
        f"alluvium emr {found.name or found.callback.__name__}"
        for found in command.app.registered_commands
        if found.callback
    }
    assert "alluvium emr serve" in known
    for inline in re.findall(r"`(alluvium emr[^`]*)`", text(PAGE)):
        assert inline in {"alluvium emr", *known}


def test_ways_to_the_node_are_those_that_are_printed() -> None:
    shown = [block.body.strip() for block in blocks(PAGE, "text")]
    ports = (command.HISTORY_PORT, THRIFT_PORT)
    assert {*shown} == {command._port_forwarding("i-0a1b2c3d4e5f", "eu-central-1", port) for port in ports}
    assert text(PAGE).count("aws ssm start-session") == len(shown)


def test_build_from_ci_has_variables_and_a_target_of_the_profile() -> None:
    profile = (REPOSITORY / "profiles.yml").read_text(encoding="utf-8")
    (block,) = blocks(PAGE, "sh")
    exported, built = (shlex.split(line) for line in block.body.splitlines())
    assert exported[0] == "export"
    for name, value in (word.split("=") for word in exported[1:]):
        assert f"env_var('{name}', '{value}')" in profile
    assert built[:3] == ["dbt", "build", "--target"]
    assert built[3] in yaml.safe_load(profile)["alluvium"]["outputs"]


def test_page_names_parameters_and_the_release_that_are_there() -> None:
    named = {word for word in re.findall(r"`([A-Z][A-Za-z]+)`", text(PAGE)) if not word.isupper()}
    assert named <= DOCUMENT["Parameters"].keys()
    assert f"`{DOCUMENT['Parameters']['ReleaseLabel']['Default']}`, the default" in text(PAGE)
    assert f"`{DOCUMENT['Parameters']['ReleaseLabel']['Default']}` has Hudi 0.15" in text(PAGE)
