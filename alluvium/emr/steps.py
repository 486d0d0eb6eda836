"""Steps that run the project on the cluster: what is asked of EMR, and how it goes."""

from __future__ import annotations

import codecs
import re
import uuid
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

from botocore.exceptions import ClientError

from alluvium import AlluviumError
from alluvium.emr import cluster as clusters
from alluvium.emr import project, stack
from alluvium.emr.aws import code
from alluvium.emr.cluster import Cluster, Step
from alluvium.emr.following import Following

__all__ = [
    "SERVE",
    "add",
    "ask_to_end",
    "check_arguments",
    "check_environment",
    "check_format",
    "check_uploaded",
    "end",
    "failure",
    "following_lines",
    "is_listening",
    "new_token",
    "printed",
    "request",
    "server",
    "token_of",
    "wait",
]

SERVE = "alluvium serve"
SCRIPT = f"{project.PREFIX}step.sh"
SERVERS = f"{project.PREFIX}server/"
LOGS = "emr-logs/alluvium/"
# EMR's own program that fetches a script from S3 and runs it (Release Guide, "Run commands and scripts").
RUNNER = "s3://{region}.elasticmapreduce/libs/script-runner/script-runner.jar"
# Hudi before 1.0 does not know the option by which rows are merged here, and takes it without a word.
FIRST_RELEASE_WITH_HUDI_1 = (7, 11, 0)
BYTES_OF_A_LOG = 256 * 1024
# S3 has no range of an empty object, nor behind the end of one.
BEHIND_THE_END = frozenset({"416", "InvalidRange"})
LENGTH_OF_A_NAME = 256
ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*")
# What deploy/emr/step.sh says itself, and where dbt looks for another project or profile than the uploaded one.
OF_THE_STEP = frozenset(
    {
        "ALLUVIUM_PACKAGE",
        "ALLUVIUM_PYTHON_ARCHIVE",
        "ALLUVIUM_WAREHOUSE",
        "DBT_PROFILE",
        "DBT_PROFILES_DIR",
        "DBT_PROJECT_DIR",
        "DBT_TARGET",
        "DBT_USE_COLORS",
        "PATH",
        "PYSPARK_DRIVER_PYTHON",
        "PYSPARK_PYTHON",
        "PYTHONPATH",
        "SPARK_HOME",
    }
)
# Options of dbt that lead to another project or target than the uploaded one, short ones also behind others.
OF_DBT = ("--profile", "--profiles-dir", "--project-dir", "--target", "-t")
OPTION = re.compile(rf"(?:{'|'.join(OF_DBT[:-1])})(?:=.*)?|-[dfhqx]*t.*", re.DOTALL)
# How the values of a variable are read elsewhere: another one would be the default, without a word.
VALUES = {"ALLUVIUM_FILE_FORMAT": ("delta", "hudi")}
SECRET = re.compile(r"DBT_ENV_SECRET_.*|.*(?:SECRET|PASSWORD|TOKEN|ACCESS_KEY|PRIVATE_KEY)")
ADDRESS_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")
# A bash that is started with one of these says so, or runs otherwise.
OF_THE_SHELL = frozenset(
    {"BASHOPTS", "BASH_ENV", "BASH_VERSINFO", "BASH_XTRACEFD", "ENV", "EUID", "IFS", "PPID", "SHELLOPTS", "UID"}
)
MINUTES_TO_STOP = 5


def new_token() -> str:
    """A name for what one step leaves in the bucket: it is known before EMR has given the step an id."""
    return uuid.uuid4().hex


def request(
    cluster: str,
    bucket: str,
    region: str,
    mode: str,
    arguments: Sequence[str] = (),
    variables: Sequence[str] = (),
    token: str | None = None,
) -> dict[str, Any]:
    """What EMR is asked for, to run deploy/emr/step.sh.

    Args:
        cluster: its id.
        bucket: of the stack.
        region: of the stack.
        mode: of the script: dbt, serve.
        arguments: of dbt.
        variables: for the environment, as NAME=VALUE.
        token: of the step; a new one by default.
    """
    name = SERVE if mode == "serve" else " ".join(("dbt", *arguments))
    return {
        "JobFlowId": cluster,
        "Steps": [
            {
                "Name": name[:LENGTH_OF_A_NAME],
                # Those that wait behind it, and the cluster, have nothing to do with its failure.
                "ActionOnFailure": "CONTINUE",
                "HadoopJarStep": {
                    "Jar": RUNNER.format(region=region),
                    "Args": [
                        f"s3://{bucket}/{SCRIPT}",
                        f"s3://{bucket}",
                        token or new_token(),
                        mode,
                        *variables,
                        "--",
                        *arguments,
                    ],
                },
            }
        ],
    }


def add(emr: Any, asked: dict[str, Any]) -> str:
    """Add a step; its id.

    Args:
        emr: client of the region.
        asked: as `request` has made it.

    Raises:
        ClientError: AWS refuses.
    """
    (identity,) = emr.add_job_flow_steps(**asked)["StepIds"]
    return str(identity)


def token_of(step: Step) -> str | None:
    """The token of a step that runs deploy/emr/step.sh; None of another one.

    Args:
        step: as EMR describes it.
    """
    is_ours = len(step.arguments) > 3 and step.arguments[0].endswith(f"/{SCRIPT}")
    return step.arguments[2] if is_ours else None


def server(known: Sequence[Step]) -> Step | None:
    """The step with the Thrift server that runs or is about to; None where there is none.

    Args:
        known: steps of a cluster.
    """
    return next((step for step in known if step.name == SERVE and not step.has_ended), None)


def check_environment(variables: Sequence[str]) -> None:
    """Refuse variables that a step cannot have.

    Args:
        variables: as NAME=VALUE.

    Raises:
        AlluviumError: one is no NAME=VALUE, its name is the step's or the shell's, or it is a secret, all of which
            are said without the value; or its value is not one of a few.
    """
    for pair in variables:
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise AlluviumError(f"emr: --env {name}: write NAME=VALUE.")
        if not ENVIRONMENT.fullmatch(name):
            raise AlluviumError(
                f"emr: --env {name}=...: a name has capital letters of ASCII, digits and _, and begins with no digit."
            )
        if name in OF_THE_STEP | OF_THE_SHELL:
            whose = "step" if name in OF_THE_STEP else "shell"
            raise AlluviumError(
                f"emr: --env {name}=...: the {whose} says it itself; not allowed are "
                f"{', '.join(sorted(OF_THE_STEP | OF_THE_SHELL))}."
            )
        if SECRET.fullmatch(name) or ADDRESS_WITH_PASSWORD.search(value):
            raise AlluviumError(
                f"emr: --env {name}=...: EMR shows the variables of a step to everybody who may look at it; a secret "
                "is not allowed."
            )
        if value not in VALUES.get(name, (value,)):
            raise AlluviumError(f"emr: --env {pair}: allowed are {', '.join(VALUES[name])}.")


def check_arguments(words: Sequence[str]) -> None:
    """Refuse options of dbt that lead away from what was uploaded.

    Args:
        words: command and arguments of dbt.

    Raises:
        AlluviumError: there is no command, or one of the words is such an option.
    """
    if not words or not words[0]:
        raise AlluviumError("emr: --command '': name a command of dbt, such as build, test or docs generate.")
    for word in words:
        if OPTION.fullmatch(word):
            raise AlluviumError(
                f"emr: {word}: a step runs the uploaded project with the target {project.TARGET} of its profile; not "
                f"allowed are {', '.join(OF_DBT)}."
            )


def check_uploaded(s3: Any, bucket: str, following: Following) -> None:
    """See that the bucket has what a step needs.

    Args:
        s3: client of the region.
        bucket: of the stack.
        following: commands that the error names.

    Raises:
        AlluviumError: something was not uploaded, or the bucket is gone.
        ClientError: AWS refuses.
    """
    for key in (SCRIPT, f"{project.PREFIX}{project.ARCHIVE}", f"{project.PREFIX}{project.WHEEL}"):
        if project.head(s3, bucket, key) is None:
            project.require_bucket(s3, bucket, following)
            push = following.command("push", "--wheel", "WHEEL")
            raise AlluviumError(f"emr: there is no s3://{bucket}/{key}; run '{push}' first.")


def check_format(release: str, variables: Sequence[str], following: Following) -> None:
    """Refuse Hudi where the cluster's merges rows otherwise.

    Args:
        release: label of EMR's release.
        variables: for the environment, as NAME=VALUE.
        following: commands that the error names.

    Raises:
        AlluviumError: it is asked for on such a release.
    """
    version = tuple(int(part) for part in release.removeprefix("emr-").split(".") if part.isdecimal())
    if "ALLUVIUM_FILE_FORMAT=hudi" in variables and version < FIRST_RELEASE_WITH_HUDI_1:
        raise AlluviumError(
            f"emr: {release} has Hudi 0.15 or older, and tables need Hudi 1.0, which came with emr-7.11.0; replace the "
            f"cluster with '{following.command('up', '--parameter', 'ReleaseLabel=emr-7.12.0')}'."
        )


def is_listening(s3: Any, bucket: str, token: str) -> bool:
    """Whether the server of a step has said that it listens.

    Args:
        s3: client of the region.
        bucket: of the stack.
        token: of the step.

    Raises:
        ClientError: AWS refuses.
    """
    return project.head(s3, bucket, f"{SERVERS}{token}") is not None


def printed(s3: Any, bucket: str, token: str) -> list[str] | None:
    """Lines that a step has printed so far, or the last of them; None where nothing was sent yet.

    Args:
        s3: client of the region.
        bucket: of the stack.
        token: of the step.

    Raises:
        ClientError: AWS refuses.
    """
    content = _log(s3, bucket, token, f"bytes=-{BYTES_OF_A_LOG}")
    return None if content is None else content.decode("utf-8", errors="replace").splitlines()


def following_lines(s3: Any, bucket: str, token: str, out: Callable[[str], None]) -> Callable[[Step], None]:
    """What prints the log of a step as it grows, each time that it is called.

    Args:
        s3: client of the region.
        bucket: of the stack.
        token: of the step.
        out: called with what is new, which may end in the midst of a line.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    printed_bytes = 0

    def said(_: Step) -> None:
        nonlocal printed_bytes
        content = _log(s3, bucket, token, f"bytes={printed_bytes}-") or b""
        printed_bytes += len(content)
        if content:
            out(decoder.decode(content))

    return said


def _log(s3: Any, bucket: str, token: str, range_: str) -> bytes | None:
    try:
        content: bytes = s3.get_object(Bucket=bucket, Key=f"{LOGS}{token}.log", Range=range_)["Body"].read()
    except ClientError as error:
        if code(error) in project.NOT_THERE:
            return None
        if code(error) in BEHIND_THE_END:
            return b""
        raise
    return content


def wait(
    emr: Any,
    cluster: str,
    step: str,
    said: Callable[[Step], None],
    is_enough: Callable[[], bool] = lambda: False,
    minutes: float | None = None,
) -> Step:
    """Wait until a step has ended.

    Args:
        emr: client of the region.
        cluster: its id.
        step: its id.
        said: called with the step, each time that EMR was asked.
        is_enough: whether to stop waiting, although it runs on.
        minutes: to wait at most; None for as long as it takes.

    Returns:
        the step, which may run on.

    Raises:
        ClientError: AWS refuses.
    """
    pause = stack.SECONDS_BETWEEN_QUESTIONS
    begin = monotonic()
    while True:
        found = clusters.step(emr, cluster, step)
        said(found)
        late = minutes is not None and monotonic() - begin > minutes * 60
        if found.has_ended or late or is_enough():
            return found
        sleep(pause)


def failure(found: Step, cluster: Cluster | None, following: Following) -> AlluviumError:
    """What to say of a step that has ended otherwise than completed.

    Args:
        found: the step.
        cluster: as it is now; None of one that EMR has forgotten.
        following: commands that the error names.
    """
    reason = f" ({found.reason})" if found.reason else ""
    if cluster is None or cluster.is_ending:
        ended = f"{cluster.id} is {cluster.state}{f' ({cluster.reason})' if cluster.reason else ''}" if cluster else ""
        return AlluviumError(
            f"emr: step {found.id} is {found.state}{reason}, since its cluster has ended{ended and f': {ended}'}; "
            f"run '{following.command('up')}', then the command again."
        )
    return AlluviumError(
        f"emr: step {found.id} is {found.state}{reason}; "
        f"'{following.command('logs', found.id)}' shows what it has printed."
    )


def ask_to_end(s3: Any, bucket: str, token: str) -> None:
    """Have the script end the server in order.

    A step that EMR cancels loses its program at once, and what that had started may go on.

    Args:
        s3: client of the region.
        bucket: of the stack.
        token: of the step.

    Raises:
        ClientError: AWS refuses.
    """
    s3.put_object(Bucket=bucket, Key=f"{SERVERS}{token}.stop", Body=b"")


def end(
    emr: Any,
    s3: Any,
    bucket: str,
    cluster: str,
    running: Step,
    said: Callable[[Step], None],
    following: Following,
) -> None:
    """End the server, and wait until it has ended.

    Args:
        emr: client of the region.
        s3: client of the region.
        bucket: of the stack.
        cluster: its id.
        running: the server's step.
        said: called with the step, each time that EMR was asked.
        following: commands that the error names.

    Raises:
        AlluviumError: it does not end.
        ClientError: AWS refuses.
    """
    token = token_of(running)
    if running.state == "PENDING" or token is None:
        emr.cancel_steps(ClusterId=cluster, StepIds=[running.id])
    else:
        ask_to_end(s3, bucket, token)
    if not wait(emr, cluster, running.id, said, minutes=MINUTES_TO_STOP).has_ended:
        names = ("--cluster-id", cluster, "--step-ids", running.id)
        cancel = following.aws("emr", "cancel-steps", *names, "--step-cancellation-option", "TERMINATE_PROCESS")
        raise AlluviumError(f"emr: step {running.id} has not ended in {MINUTES_TO_STOP} minutes; run '{cancel}'.")
