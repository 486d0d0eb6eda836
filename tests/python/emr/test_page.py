"""docs/guide/emr.md: each of its commands, in its order, in an account of moto's."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import pytest

from alluvium.emr import stack as stacks
from docs.guide import GUIDE, blocks, text

from .conftest import Network, Run, client
from .test_template import DOCUMENT

pytestmark = pytest.mark.filterwarnings("ignore:Tried to parse AWS")

PAGE = GUIDE / "emr.md"
WHEEL = "dist/alluvium-0.1.0-py3-none-any.whl"
STEP, BUCKET = "s-1A2B3C4D5E6F7", "alluvium-databucket-1a2b3c4d"


def commands() -> list[list[str]]:
    lines = [line for block in blocks(PAGE, "bash") for line in block.body.splitlines()]
    return [shlex.split(line) for line in lines]


def test_every_command_of_the_page_runs(
    network: Network, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dist").mkdir()
    Path(WHEEL).write_bytes(b"")
    Path("dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    replaced = {"vpc-0a1b2c3d": network.vpc, "subnet-0a1b2c3d": network.subnet}
    seen = set()
    for words in commands():
        words = [replaced.get(word, word) for word in words]
        if words[0] == "aws":
            assert words[1:3] == ["ec2", "create-tags"]
            continue
        assert words[:2] == ["alluvium", "emr"]
        seen.add(words[2])
        found = stacks.find(client("cloudformation"), "alluvium")
        if words[2] == "logs" and STEP in words:
            assert found is not None
            replaced[STEP] = step(found)
        if found is not None and found.bucket is not None:
            replaced[f"ExistingDataBucket={BUCKET}"] = f"ExistingDataBucket={found.bucket}"
        words = [replaced.get(word, word) for word in words]
        code, _, errors = run(*words[2:])
        assert code == 0, f"{shlex.join(words)}: {errors}"
    assert seen == {"validate", "up", "status", "push", "logs", "down"}
    again = stacks.find(client("cloudformation"), "alluvium")
    assert again is not None
    assert [entry["Name"] for entry in client("s3").list_buckets()["Buckets"]] == [again.bucket]


def step(found: stacks.Stack) -> str:
    added = client("emr").add_job_flow_steps(
        JobFlowId=found.cluster, Steps=[{"Name": "build", "HadoopJarStep": {"Jar": "command-runner.jar"}}]
    )
    identity: str = added["StepIds"][0]
    key = f"emr-logs/{found.cluster}/steps/{identity}/stdout.gz"
    client("s3").put_object(Bucket=found.bucket, Key=key, Body=gzip.compress(b"done\n"))
    return identity


def test_commands_stand_in_blocks_that_are_run() -> None:
    """In the text there is the command's name, and nothing to be typed in."""
    for inline in re.findall(r"`(alluvium emr[^`]*)`", text(PAGE)):
        assert inline in {"alluvium emr"} | {f"alluvium emr {name}" for name in ("up", "down", "status")}


def test_page_names_parameters_and_the_release_that_are_there() -> None:
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", text(PAGE))) - {"VACUUM"}
    assert named <= DOCUMENT["Parameters"].keys()
    assert f"`{DOCUMENT['Parameters']['ReleaseLabel']['Default']}`, the default" in text(PAGE)
