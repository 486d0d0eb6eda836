"""`alluvium emr build` and `serve`: moto's steps, which go on as a test says, and answers that moto does not give."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import ANY, Stubber
from botocore.validate import ParamValidator

from alluvium.emr import stack as stacks
from alluvium.emr import steps
from alluvium.emr.cluster import Cluster, Step
from alluvium.emr.following import Following

from .conftest import Run, client, cluster
from .test_errors import is_there, refused, resource, stack
from .test_template import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Tried to parse AWS")]

Answers = Callable[[str], Stubber]
RUNNER = "s3://eu-central-1.elasticmapreduce/libs/script-runner/script-runner.jar"


class Emr:
    """What becomes of steps: each question is followed by the next of what `then` was given."""

    def __init__(self, found: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
        assert found.bucket is not None
        self.bucket = found.bucket
        self.cluster = cluster(found.cluster)
        self.cluster.state = "WAITING"
        self.cluster.release_label = "emr-7.10.0"
        self._next: list[Callable[[], None]] = []
        monkeypatch.setattr("alluvium.emr.steps.sleep", lambda _: self._next.pop(0)())

    def then(self, *what: Callable[[], None]) -> None:
        self._next += what

    def is_asked_no_more(self) -> bool:
        return not self._next

    @property
    def step(self) -> Any:
        return self.cluster.steps[-1]

    def put(self, key: str, text: str = "") -> None:
        client("s3").put_object(Bucket=self.bucket, Key=key, Body=text.encode())

    def keys(self, prefix: str) -> list[str]:
        found = client("s3").list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [entry["Key"].removeprefix(prefix) for entry in found.get("Contents", [])]

    def uploads(self) -> None:
        for name in ("step.sh", "project.zip", "wheel.txt"):
            self.put(f"project/{name}")

    def is_in(self, state: str, reason: str | None = None) -> Callable[[], None]:
        def change() -> None:
            self.step.state = state
            self.step.last_state_change_reason = reason

        return change

    def prints(self, *lines: str) -> Callable[[], None]:
        return lambda: self.put(f"emr-logs/alluvium/{self.step.args[2]}.log", "".join(f"{line}\n" for line in lines))

    def listens(self) -> None:
        self.step.state = "RUNNING"
        self.put(f"project/server/{self.step.args[2]}")


@pytest.fixture
def emr(deployed: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> Emr:
    made = Emr(deployed, monkeypatch)
    made.uploads()
    return made


def arguments(bucket: str, mode: str, *rest: str) -> list[Any]:
    return [f"s3://{bucket}/project/step.sh", f"s3://{bucket}", ANY, mode, *rest]


def test_build_is_a_step_and_ends_with_it(emr: Emr, run: Run) -> None:
    emr.then(emr.is_in("RUNNING"), emr.prints("1 of 2 OK", "2 of 2 OK", "Done. PASS=2"), emr.is_in("COMPLETED"))
    said = (
        "build",
        "--lines",
        "2",
        "--env",
        "REGION=the north",
        "--",
        "--select",
        "+slv_shop__orders",
        "--vars",
        "{a: b}",
    )
    code, output, errors = run(*said)
    assert (code, output.splitlines()) == (
        0,
        [
            f"added    {emr.step.id} dbt build --select +slv_shop__orders --vars '{{a: b}}'",
            "2 of 2 OK",
            "Done. PASS=2",
        ],
    )
    states = [line.split()[-1] for line in errors.splitlines()]
    assert states[-2:] == ["RUNNING", "COMPLETED"]
    assert emr.is_asked_no_more()
    words = ("build", "--select", "+slv_shop__orders", "--vars", "{a: b}")
    assert emr.step.args == arguments(emr.bucket, "dbt", "REGION=the north", "--", *words)
    assert (emr.step.jar, emr.step.action_on_failure) == (RUNNER, "CONTINUE")


def test_build_runs_another_command_and_need_not_wait(emr: Emr, run: Run) -> None:
    code, output, _ = run("build", "--command", "docs generate", "--no-wait")
    assert (code, output) == (
        0,
        f"added    {emr.step.id} dbt docs generate\nlook     alluvium emr logs {emr.step.id}\n",
    )
    assert emr.step.args[-3:] == ["--", "docs", "generate"]


def test_build_that_fails_says_why(emr: Emr, run: Run) -> None:
    emr.then(emr.prints("Done. PASS=1 ERROR=1", "step.sh: ends with 1"), emr.is_in("FAILED", "Unknown Error."))
    code, output, errors = run("build")
    assert (code, output.splitlines()[1:]) == (1, ["Done. PASS=1 ERROR=1", "step.sh: ends with 1"])
    assert errors.splitlines()[-1] == (
        f"alluvium: emr: step {emr.step.id} is FAILED (Unknown Error); "
        f"'alluvium emr logs {emr.step.id}' shows what it has printed."
    )


def test_cluster_that_ends_in_mid_build(emr: Emr, run: Run) -> None:
    def ends() -> None:
        emr.step.state = "CANCELLED"
        emr.cluster.state = "TERMINATED_WITH_ERRORS"

    emr.then(ends)
    code, _, errors = run("build")
    assert code == 1
    said = errors.splitlines()[-1]
    assert f"step {emr.step.id} is CANCELLED, since its cluster has ended: {emr.cluster.id} is TERMINATED_WITH" in said
    assert said.endswith("run 'alluvium emr up', then the command again.")


@pytest.mark.parametrize("command", [("build",), ("serve",)])
def test_dry_run_prints_a_request_that_emr_takes(emr: Emr, run: Run, command: tuple[str, ...]) -> None:
    code, output, _ = run(*command, "--dry-run")
    assert code == 0
    asked = json.loads(output)
    model = client("emr").meta.service_model.operation_model("AddJobFlowSteps").input_shape
    assert not ParamValidator().validate(asked, model).has_errors()
    (step,) = asked["Steps"]
    mode = ("dbt", "--", "build") if command == ("build",) else ("serve", "--")
    assert step["HadoopJarStep"] == {"Jar": RUNNER, "Args": arguments(emr.bucket, *mode)}
    assert asked["JobFlowId"] == emr.cluster.id
    assert emr.cluster.steps == []


def test_long_commands_have_short_names() -> None:
    asked = steps.request("j-1", "tables", "eu-central-1", "dbt", ["build", "--select", "m" * 500], token="t1")
    (step,) = asked["Steps"]
    assert (len(step["Name"]), step["HadoopJarStep"]["Args"][-1]) == (256, "m" * 500)


def test_server_listens_and_is_started_once(emr: Emr, run: Run) -> None:
    emr.then(emr.is_in("RUNNING"), emr.prints("step.sh: makes an environment"), emr.listens)
    code, output, _ = run("serve", "--env", "ALLUVIUM_DRIVER_MEMORY=8g")
    assert (code, output.splitlines()[:2]) == (
        0,
        [f"added    {emr.step.id} alluvium serve", "listens  at 127.0.0.1:10000 of the primary node"],
    )
    assert emr.step.args == arguments(emr.bucket, "serve", "ALLUVIUM_DRIVER_MEMORY=8g", "--")
    code, output, _ = run("serve")
    assert (code, output.splitlines()[0]) == (0, f"runs     {emr.step.id} RUNNING")
    assert run("serve", "--dry-run")[:2] == (0, f"runs     {emr.step.id} RUNNING\n")
    assert len(emr.cluster.steps) == 1
    assert run("build")[2].endswith("or end it with 'alluvium emr serve --stop'.\n")


def test_what_is_pasted_goes_to_the_same_stack() -> None:
    followed = Following("test", "eu-west-1")
    where = "--stack test --region eu-west-1"
    assert followed.command("logs", "s-1") == f"alluvium emr logs s-1 {where}"
    assert Following().command("up") == "alluvium emr up"
    found = Step("s-1", "dbt build", "FAILED", "", ())
    ended = Cluster("j-1", "test-1", "TERMINATED", "", "emr-7.10.0", "s3://tables/", None)
    assert f"'alluvium emr logs s-1 {where}' shows" in str(
        steps.failure(found, replace(ended, state="WAITING"), followed)
    )
    assert f"run 'alluvium emr up {where}', then the command again." in str(steps.failure(found, ended, followed))


def test_commands_of_messages_are_made_in_one_place() -> None:
    """One that is written out would leave out the stack and the region."""
    for path in (REPOSITORY / "alluvium" / "emr").glob("*.py"):
        assert "'alluvium emr" not in path.read_text(encoding="utf-8"), path


def test_server_that_fails_says_why(emr: Emr, run: Run) -> None:
    emr.then(emr.prints("alluvium: serve: --port 10000 is taken", "step.sh: ends with 1"), emr.is_in("FAILED"))
    code, output, errors = run("serve")
    assert (code, output.splitlines()[1]) == (1, "alluvium: serve: --port 10000 is taken")
    assert f"step {emr.step.id} is FAILED; 'alluvium emr logs {emr.step.id}'" in errors
    emr.then(emr.listens)
    assert run("serve")[0] == 0


def test_server_ends_when_it_is_asked_to(emr: Emr, run: Run) -> None:
    assert run("serve", "--stop")[:2] == (0, "no server runs\n")
    emr.then(emr.listens)
    run("serve")
    token = emr.step.args[2]
    assert run("serve", "--stop", "--dry-run")[:2] == (0, f"would end step {emr.step.id}\n")
    assert emr.keys("project/server/") == [token]
    emr.then(emr.is_in("COMPLETED"))
    assert run("serve", "--stop")[:2] == (0, f"ended    {emr.step.id}\n")
    assert f"{token}.stop" in emr.keys("project/server/")
    assert run("serve", "--stop")[:2] == (0, "no server runs\n")


def test_server_that_does_not_end(emr: Emr, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    emr.then(emr.listens)
    run("serve")
    monkeypatch.setattr(steps, "MINUTES_TO_STOP", 0)
    said = run("serve", "--stop")[2].splitlines()[-1]
    assert said.endswith(
        f"run 'aws emr cancel-steps --cluster-id {emr.cluster.id} --step-ids {emr.step.id} "
        "--step-cancellation-option TERMINATE_PROCESS'."
    )


@pytest.mark.parametrize("name", ["step.sh", "project.zip", "wheel.txt"])
@pytest.mark.parametrize("command", ["build", "serve"])
def test_nothing_is_started_without_a_project(emr: Emr, run: Run, command: str, name: str) -> None:
    client("s3").delete_object(Bucket=emr.bucket, Key=f"project/{name}")
    said = refused(run, command)
    assert refused(run, command, "--dry-run") == said
    assert f"there is no s3://{emr.bucket}/project/{name}; run 'alluvium emr push --wheel WHEEL' first." in said
    assert emr.cluster.steps == []


@pytest.mark.parametrize("command", ["build", "serve"])
def test_nothing_is_started_without_the_bucket(emr: Emr, run: Run, command: str) -> None:
    for key in emr.keys(""):
        client("s3").delete_object(Bucket=emr.bucket, Key=key)
    client("s3").delete_bucket(Bucket=emr.bucket)
    assert f"bucket {emr.bucket} is not there any more" in refused(run, command)
    assert emr.cluster.steps == []


@pytest.mark.parametrize("command", ["build", "serve"])
def test_cluster_that_has_ended_takes_no_step(emr: Emr, run: Run, command: str) -> None:
    emr.cluster.state = "TERMINATED"
    assert "is TERMINATED; run 'alluvium emr up'." in refused(run, command)


@pytest.mark.parametrize("command", ["build", "serve"])
def test_hudi_needs_a_release_that_has_its_options(emr: Emr, run: Run, command: str) -> None:
    """Hudi 0.15 takes `hoodie.record.merge.mode` without a word, and merges otherwise."""
    said = refused(run, command, "--env", "ALLUVIUM_FILE_FORMAT=hudi")
    assert "emr-7.10.0 has Hudi 0.15 or older" in said
    assert "replace the cluster with 'alluvium emr up --parameter ReleaseLabel=emr-7.12.0'." in said
    assert emr.cluster.steps == []
    for release in ("emr-7.11.0", "emr-7.13.0", "emr-8.0.0"):
        steps.check_format(release, ["ALLUVIUM_FILE_FORMAT=hudi"], Following())


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("work=/x", "a name has capital letters of ASCII, digits and _"),
        ("ÄRA=1", "a name has capital letters of ASCII, digits and _"),
        ("1A=1", "begins with no digit"),
        ("-i", "write NAME=VALUE."),
        ("UID=0", "the shell says it itself; not allowed are ALLUVIUM_PACKAGE, "),
        ("SPARK_HOME=/x", "the step says it itself; not allowed are ALLUVIUM_PACKAGE, "),
        ("DBT_TARGET=local", "the step says it itself"),
        ("AWS_SECRET_ACCESS_KEY=pa55word", "AWS_SECRET_ACCESS_KEY=...: EMR shows the variables of a step"),
        ("AWS_SESSION_TOKEN=pa55word", "a secret is not allowed."),
        ("ALLUVIUM_THRIFT_PASSWORD=pa55word", "a secret is not allowed."),
        ("PIP_INDEX_URL=https://me:pa55word@mirror/simple", "PIP_INDEX_URL=...: EMR shows the variables of a step"),
    ],
)
@pytest.mark.parametrize("command", ["build", "serve"])
def test_variables_that_a_step_cannot_have(account: None, run: Run, command: str, pair: str, said: str) -> None:
    printed = refused(run, command, "--env", pair)
    assert said in printed
    assert "pa55word" not in printed


def test_address_without_a_password_is_none() -> None:
    steps.check_environment(["PIP_INDEX_URL=https://mirror:8080/simple", "MAX_TOKENS=1", "TOKEN_COLUMN=x"])


def test_value_that_is_wrong_is_not_printed(account: None, run: Run) -> None:
    assert "pa55word" not in refused(run, "build", "--env", "MY-NAME=pa55word")


def test_logs_are_those_of_the_step_so_far(emr: Emr, run: Run) -> None:
    run("build", "--no-wait")
    assert "EMR writes them some minutes after a step" in refused(run, "logs", emr.step.id)
    emr.prints()()
    assert run("logs", emr.step.id)[:2] == (0, "\n")
    emr.prints(*(f"line {number} é" for number in range(100_000)))()
    assert run("logs", emr.step.id, "--lines", "2")[1] == "line 99998 é\nline 99999 é\n"
    assert "has no log stdout" in refused(run, "logs", emr.step.id, "--file", "stdout")


def test_logs_follow_a_step_until_it_has_ended(emr: Emr, run: Run) -> None:
    run("build", "--no-wait")
    text = "1 of 2 OK é\n2 of"

    def sent(content: bytes) -> Callable[[], None]:
        key = f"emr-logs/alluvium/{emr.step.args[2]}.log"
        return lambda: client("s3").put_object(Bucket=emr.bucket, Key=key, Body=content)

    emr.then(
        emr.is_in("RUNNING"),
        sent(b""),
        # In the midst of a line, and of a letter.
        sent(text.encode()[:11]),
        sent(text.encode()),
        sent(text.encode()),
        sent(f"{text} 2 OK\n".encode()),
        emr.is_in("FAILED", "exit code 1"),
    )
    code, output, errors = run("logs", emr.step.id, "--follow")
    assert (code, output) == (0, "1 of 2 OK é\n2 of 2 OK\n")
    assert errors.startswith(f"step     {emr.step.id} FAILED")
    assert emr.is_asked_no_more()
    assert "name a step; 'alluvium emr logs' lists all" in refused(run, "logs", "--follow")
    assert "no --file stderr" in refused(run, "logs", emr.step.id, "--follow", "--file", "stderr")
    client("emr").add_job_flow_steps(
        JobFlowId=emr.cluster.id, Steps=[{"Name": "x", "HadoopJarStep": {"Jar": "command-runner.jar"}}]
    )
    assert f"step {emr.step.id} is none of a build or a server" in refused(run, "logs", emr.step.id, "--follow")


def described(state: str, **more: Any) -> dict[str, Any]:
    token = ["s3://tables/project/step.sh", "s3://tables", "t1", "serve", "--"]
    return {"Id": "s-1", "Name": "alluvium serve", "Status": {"State": state, **more}, "Config": {"Args": token}}


def cluster_with(answers: Answers, *known: dict[str, Any]) -> Stubber:
    is_there(answers, stack("CREATE_COMPLETE"), resource("Cluster", "j-1"), resource("DataBucket", "tables"))
    emr = answers("emr")
    found = {
        "Id": "j-1",
        "Name": "alluvium-1",
        "Status": {"State": "RUNNING"},
        "ReleaseLabel": "emr-7.10.0",
        "LogUri": "s3n://tables/emr-logs/",
    }
    emr.add_response("describe_cluster", {"Cluster": found}, {"ClusterId": "j-1"})
    emr.add_response(
        "list_instances",
        {"Instances": [{"Ec2InstanceId": "i-1"}]},
        {"ClusterId": "j-1", "InstanceGroupTypes": ["MASTER"], "InstanceStates": ["RUNNING"]},
    )
    emr.add_response("list_steps", {"Steps": list(known)}, {"ClusterId": "j-1"})
    return emr


def test_status_says_how_to_reach_the_server(answers: Answers, run: Run) -> None:
    cluster_with(answers, described("RUNNING"))
    answers("s3").add_response("head_bucket", {}, {"Bucket": "tables"})
    assert run("status")[1].splitlines()[-2:] == [
        "reach    aws ssm start-session --region eu-central-1 --target i-1 --document-name "
        "AWS-StartPortForwardingSession --parameters portNumber=18080,localPortNumber=18080",
        "server   aws ssm start-session --region eu-central-1 --target i-1 --document-name "
        "AWS-StartPortForwardingSession --parameters portNumber=10000,localPortNumber=10000",
    ]


def test_server_that_waits_is_cancelled(answers: Answers, run: Run) -> None:
    emr = cluster_with(answers, described("PENDING"))
    emr.add_response("cancel_steps", {}, {"ClusterId": "j-1", "StepIds": ["s-1"]})
    asked = {"ClusterId": "j-1", "StepId": "s-1"}
    emr.add_response("describe_step", {"Step": described("CANCELLED")}, asked)
    assert run("serve", "--stop")[:2] == (0, "ended    s-1\n")


def test_what_emr_has_found_in_the_logs_is_said(answers: Answers) -> None:
    emr = answers("emr")
    details = {"Reason": "Unknown Error", "Message": "No space left\non device.", "LogFile": "s3://x/stderr.gz"}
    found = described("FAILED", FailureDetails=details, StateChangeReason={"Message": "Step failed"})
    emr.add_response("describe_step", {"Step": found}, {"ClusterId": "j-1", "StepId": "s-1"})
    from alluvium.emr import cluster as clusters

    step = clusters.step(client("emr"), "j-1", "s-1")
    assert (step.reason, steps.token_of(step)) == ("No space left on device", "t1")
    assert str(steps.failure(step, None, Following())).startswith(
        "emr: step s-1 is FAILED (No space left on device), since its cluster has ended; "
    )
