"""The command line, ``alluvium emr``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from alluvium import AlluviumError
from alluvium.emr.following import DEFAULT_STACK, Following
from alluvium.options import Debug, examples
from alluvium.server.hosting import PORT as THRIFT_PORT

if TYPE_CHECKING:
    from alluvium.emr.aws import Clients
    from alluvium.emr.cluster import Cluster, Step
    from alluvium.emr.stack import ChangeSet, Stack

app = typer.Typer(no_args_is_help=True, help="A cluster of Amazon EMR for the project: a CloudFormation stack.")

Region = Annotated[
    str | None, typer.Option(help="Of AWS; that of AWS_REGION, AWS_DEFAULT_REGION or the profile by default.")
]
StackName = Annotated[str, typer.Option("--stack", metavar="NAME", help="Of the CloudFormation stack.")]
Vpc = Annotated[str | None, typer.Option(metavar="ID", help="VPC of the subnet; needed once, for a new stack.")]
Subnet = Annotated[str | None, typer.Option(metavar="ID", help="Private subnet; needed once, for a new stack.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")]
NeverChanges = Annotated[bool, typer.Option("--dry-run", help="As without it: this command changes nothing.")]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME=VALUE", help="Variable for dbt, which EMR shows to others; more than once."),
]
HISTORY_PORT = 18080
LINES_OF_A_FAILURE = 20


class LogFile(str, Enum):
    """Values of ``--file``: what EMR writes of a step."""

    stderr = "stderr"
    stdout = "stdout"
    controller = "controller"
    syslog = "syslog"


@app.command(
    epilog=examples("alluvium emr validate", "alluvium emr validate --vpc vpc-0a1b2c3d --subnet subnet-0a1b2c3d")
)
def validate(
    vpc: Vpc = None,
    subnet: Subnet = None,
    dry_run: NeverChanges = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Check what `up` needs: credentials, the template, and the subnet. Changes nothing.

    Without --vpc and --subnet, those of the stack are checked.
    """
    from alluvium.emr import network, template
    from alluvium.emr import stack as stacks

    with _clients(stack, region) as (clients, following):
        caller = clients.sts.get_caller_identity()
        typer.echo(f"credentials  {caller['Arn']}, in {clients.region}")
        clients.cloudformation.validate_template(TemplateBody=template.shipped().body)
        typer.echo("template     CloudFormation takes it")
        found = stacks.find(clients.cloudformation, stack)
        values = (found.parameters if found else {}) | _given(vpc, subnet)
        if not {"VpcId", "SubnetId"} <= values.keys():
            raise AlluviumError("emr: the subnet is not checked; say --vpc and --subnet.")
        network.check_subnet(clients.ec2, values["VpcId"], values["SubnetId"], following)
        typer.echo(f"subnet       {values['SubnetId']} is in {values['VpcId']}, and EMR may use it")


@app.command(
    epilog=examples(
        "alluvium emr up --vpc vpc-0a1b2c3d --subnet subnet-0a1b2c3d --landing-bucket my-topics",
        "alluvium emr up --idle-minutes 30 --parameter MaximumInstanceCount=8",
        "alluvium emr up --dry-run",
    )
)
def up(
    vpc: Vpc = None,
    subnet: Subnet = None,
    landing_bucket: Annotated[
        str | None, typer.Option(metavar="NAME", help="Bucket with the change files; the cluster may read it.")
    ] = None,
    idle_minutes: Annotated[
        int | None,
        typer.Option(min=1, max=10080, help="A cluster without work ends itself after so long; 60 at first."),
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Of the template, as it names it; more than once.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Replace the cluster though a step runs on it.")] = False,
    dry_run: DryRun = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Make the stack, or bring it to this version's template and these parameters; wait until it is done.

    What is not said stays as it is. Where nothing changes, nothing is done.
    A cluster that has ended is replaced by a new one.
    One on which a step runs, a build or the server, is replaced with --yes alone.
    """
    from alluvium.emr import network, template
    from alluvium.emr import stack as stacks

    shipped = template.shipped()
    with _clients(stack, region) as (clients, following):
        parameters = _parameters(parameter or [])
        given = _given(vpc, subnet, _landing_arn(clients, landing_bucket), idle_minutes) | parameters
        said = {"LandingBucketArn": f"--landing-bucket {landing_bucket}"}
        shipped.check(given, {name: option for name, option in said.items() if name not in parameters})
        found = stacks.find(clients.cloudformation, stack)
        is_new = found is None or found.is_new
        if found is not None:
            found.require_updatable(following)
        if is_new and not {"VpcId", "SubnetId"} <= given.keys():
            raise AlluviumError(f"emr: there is no stack {stack} in {clients.region} yet; say --vpc and --subnet.")
        values = (found.parameters if found else {}) | given
        shipped.check_counts(values)
        if {"VpcId", "SubnetId"} & given.keys():
            network.check_subnet(clients.ec2, values["VpcId"], values["SubnetId"], following)
        if given.get("ExistingDataBucket"):
            name = given["ExistingDataBucket"]
            _require_bucket(clients, name, f"--parameter ExistingDataBucket={name}", following)
        if landing_bucket and "LandingBucketArn" not in parameters:
            _require_bucket(clients, landing_bucket, f"--landing-bucket {landing_bucket}", following)
        if found is not None and not is_new and "ClusterNumber" not in given:
            given |= _next_cluster(clients, found)
        if dry_run:
            before = None
            if not is_new:
                answer = clients.cloudformation.get_template(StackName=stack, TemplateStage="Original")
                before = template.Template(answer["TemplateBody"])
            lines = stacks.differences(None if is_new else found, before, shipped, given)
            typer.echo("\n".join(f"would {line}" for line in lines) or f"stack {stack}: nothing changes")
            return
        planned = stacks.plan(clients.cloudformation, found, following, shipped, given)
        if planned is None:
            typer.echo(f"stack {stack}: nothing changes")
        else:
            for change in planned.changes:
                typer.echo(f"{change.action:<8} {change.resource} ({change.kind})")
            if found is not None and planned.replaces("AWS::EMR::Cluster") and not yes:
                _require_no_step(clients, found, planned, following)
            with _progress(clients):
                stacks.apply(clients.cloudformation, planned, following)
        for name, value in stacks.require(clients.cloudformation, following, clients.region).outputs.items():
            typer.echo(f"{name}: {value}")


@app.command(epilog=examples("alluvium emr status", "alluvium emr status --stack test --region eu-central-1"))
def status(
    dry_run: NeverChanges = False, stack: StackName = DEFAULT_STACK, region: Region = None, debug: Debug = False
) -> None:
    """Say how the stack and its cluster are, and how to reach the cluster."""
    from alluvium.emr import cluster as clusters
    from alluvium.emr import stack as stacks
    from alluvium.emr import steps

    with _clients(stack, region) as (clients, following):
        found = stacks.require(clients.cloudformation, following, clients.region)
        typer.echo(f"stack    {found.name} {found.status}{_in_brackets(found.reason)}")
        is_gone = found.bucket is not None and not _has_bucket(clients, found)
        typer.echo(f"bucket   {found.bucket or 'none'}{' (not there any more)' if is_gone else ''}")
        cluster = clusters.find(clients.emr, found.cluster) if found.cluster else None
        if cluster is None:
            typer.echo("cluster  none")
            typer.echo(f"next     {found.next_step(following)}")
            return
        typer.echo(f"cluster  {cluster.id} {cluster.state}{_in_brackets(cluster.reason)}, {cluster.release}")
        known = clusters.steps(clients.emr, cluster.id)
        for step in known[:5]:
            typer.echo(f"step     {step.id} {step.state} {step.name}")
        if cluster.has_ended:
            typer.echo(f"next     {found.next_step(following)}")
        elif cluster.primary_instance:
            typer.echo(f"reach    {_port_forwarding(cluster.primary_instance, clients.region, HISTORY_PORT)}")
            if steps.server(known) is not None:
                typer.echo(f"server   {_port_forwarding(cluster.primary_instance, clients.region, THRIFT_PORT)}")


@app.command(
    epilog=examples("alluvium emr down", "alluvium emr down --stack test --yes", "alluvium emr down --dry-run")
)
def down(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask. Needed without a terminal.")] = False,
    dry_run: DryRun = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Delete the stack with its cluster, and wait until it is gone. The bucket with the tables stays.

    Says first what is deleted, and asks. Without a terminal nothing is deleted but with --yes.
    """
    from alluvium.emr import stack as stacks
    from alluvium.emr import template

    with _clients(stack, region) as (clients, following):
        found = stacks.require(clients.cloudformation, following, clients.region)
        found.require_idle(following)
        would = "would delete" if dry_run else "deletes "
        typer.echo(f"{would} stack {found.name} in {clients.region}, and of it")
        for name, identity in found.resources.items():
            if name not in {"DataBucket", "DataBucketPolicy"}:
                typer.echo(f"{would} {name} ({identity})")
        step = _running_step(clients, found)
        if step is not None:
            typer.echo(f"{'would end' if dry_run else 'ends    '} step {step.id} ({step.name}), which is {step.state}")
        if not dry_run:
            if not yes and not (sys.stdin.isatty() and typer.confirm("go on?")):
                raise AlluviumError(f"emr: stack {found.name} is not deleted; say yes on a terminal, or --yes.")
            with _progress(clients):
                stacks.delete(clients.cloudformation, found, following)
            typer.echo(f"deleted  stack {found.name}")
        if _has_bucket(clients, found):
            again = {**template.shipped().changed(found.parameters), "ExistingDataBucket": found.bucket}
            said = (word for name, value in again.items() for word in ("--parameter", f"{name}={value}"))
            up_again = following.command("up", *said)
            typer.echo(f"stays    s3://{found.bucket} with all tables; to go on with them: {up_again}")


@app.command(
    epilog=examples(
        "alluvium emr push",
        "alluvium emr push --wheel dist/dbt_alluvium-0.1.0-py3-none-any.whl",
        "alluvium emr push --dry-run",
    )
)
def push(
    project_dir: Annotated[Path, typer.Option(envvar="DBT_PROJECT_DIR", help="Directory of dbt_project.yml.")] = Path(),
    wheel: Annotated[
        Path | None, typer.Option(help="Alluvium's, which steps install; once, and again for another version.")
    ] = None,
    dry_run: DryRun = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Upload the dbt project and what runs it to the stack's bucket. What is there already is not sent again."""
    from alluvium.emr import project
    from alluvium.emr import stack as stacks

    found = project.files(project_dir)
    project.check_profile(project_dir)
    project.check_locations(project_dir)
    contents = {project.ARCHIVE: project.archive(found), project.SCRIPT.name: project.script()}
    if wheel is not None:
        project.check_wheel(wheel)
        # The name last: a step that begins meanwhile finds what it names.
        contents |= {wheel.name: wheel.read_bytes(), project.WHEEL: wheel.name.encode()}
    with _clients(stack, region) as (clients, following):
        bucket = _bucket(stacks.require(clients.cloudformation, following, clients.region), following)
        project.require_bucket(clients.s3, bucket, following)
        for name, content in contents.items():
            key = f"{project.PREFIX}{name}"
            address = f"s3://{bucket}/{key} ({len(content):,} bytes)"
            if project.is_there(clients.s3, bucket, key, content):
                typer.echo(f"is there {address}")
            elif dry_run:
                typer.echo(f"would upload {address}")
            else:
                project.upload(clients.s3, bucket, key, content)
                typer.echo(f"uploaded {address}")
        if wheel is None and project.head(clients.s3, bucket, f"{project.PREFIX}{project.WHEEL}") is None:
            pushes = following.command("push", "--wheel", "WHEEL")
            typer.echo(f"lacks    the wheel, which steps install; '{pushes}' uploads it")


@app.command(
    epilog=examples(
        "alluvium emr build",
        "alluvium emr build -- --select +slv_shop__orders",
        "alluvium emr build --command test --no-wait",
    )
)
def build(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENT ...]", help="Of dbt.")] = None,
    command: Annotated[str, typer.Option(help="Of dbt, in place of build; `docs generate`.")] = "build",
    env: Env = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Add the step, and leave it.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="Of what it has printed, at its end.")] = 20,
    dry_run: DryRun = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Run `dbt build` on the cluster with the uploaded project, as a step with a Spark of its own; wait for its end.

    Ends with 1 where the step fails. A step that waits behind another one begins after it.
    """
    from alluvium.emr import cluster as clusters
    from alluvium.emr import steps

    variables = env or []
    steps.check_environment(variables)
    words = [*_split(command), *(arguments or ())]
    steps.check_arguments(words)
    with _clients(stack, region) as (clients, following):
        cluster, bucket = _running(clients, following)
        steps.check_format(cluster.release, variables, following)
        server = steps.server(clusters.steps(clients.emr, cluster.id))
        if server is not None:
            raise AlluviumError(
                f"emr: the Thrift server is step {server.id} ({server.state}), and one Spark at a time writes the "
                "tables; build through it with 'dbt build --target thrift', or end it with "
                f"'{following.command('serve', '--stop')}'."
            )
        steps.check_uploaded(clients.s3, bucket, following)
        token = steps.new_token()
        asked = steps.request(cluster.id, bucket, clients.region, "dbt", words, variables, token)
        if dry_run:
            typer.echo(json.dumps(asked, indent=2))
            return
        step = steps.add(clients.emr, asked)
        typer.echo(f"added    {step} dbt {shlex.join(words)}")
        if no_wait:
            typer.echo(f"look     {following.command('logs', step)}")
            return
        with _progress_of_step(clients, bucket, token) as said:
            ended = steps.wait(clients.emr, cluster.id, step, said)
        typer.echo("\n".join((steps.printed(clients.s3, bucket, token) or [])[-lines:]))
        if ended.state != "COMPLETED":
            raise steps.failure(ended, clusters.find(clients.emr, cluster.id), following)


@app.command(epilog=examples("alluvium emr serve", "alluvium emr serve --stop", "alluvium emr serve --dry-run"))
def serve(
    stop: Annotated[bool, typer.Option("--stop", help="End the server, and wait until it has ended.")] = False,
    env: Env = None,
    dry_run: DryRun = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """Start the project's Thrift server on the cluster, as a step, and wait until it listens.

    It listens to the primary node alone; what is printed leads there. Where one runs, nothing is started.
    As long as it runs the cluster does not end itself, and no other step begins.
    """
    from alluvium.emr import cluster as clusters
    from alluvium.emr import steps

    variables = env or []
    steps.check_environment(variables)
    with _clients(stack, region) as (clients, following):
        cluster, bucket = _running(clients, following)
        running = steps.server(clusters.steps(clients.emr, cluster.id))
        if stop:
            _stop(clients, following, bucket, cluster.id, running, dry_run=dry_run)
            return
        if running is not None:
            typer.echo(f"runs     {running.id} {running.state}")
            step, token = running.id, steps.token_of(running)
        else:
            steps.check_format(cluster.release, variables, following)
            steps.check_uploaded(clients.s3, bucket, following)
            token = steps.new_token()
            asked = steps.request(cluster.id, bucket, clients.region, "serve", (), variables, token)
            if dry_run:
                typer.echo(json.dumps(asked, indent=2))
                return
            step = steps.add(clients.emr, asked)
            typer.echo(f"added    {step} {steps.SERVE}")
        if dry_run:
            return
        with _progress_of_step(clients, bucket, token) as said:
            found = steps.wait(
                clients.emr,
                cluster.id,
                step,
                said,
                lambda: token is None or steps.is_listening(clients.s3, bucket, token),
            )
        if found.has_ended:
            typer.echo("\n".join((_printed(clients, bucket, found) or [])[-LINES_OF_A_FAILURE:]))
            raise steps.failure(found, clusters.find(clients.emr, cluster.id), following)
        typer.echo(f"listens  at 127.0.0.1:{THRIFT_PORT} of the primary node")
        again = clusters.find(clients.emr, cluster.id)
        if again is not None and again.primary_instance:
            typer.echo(f"reach    {_port_forwarding(again.primary_instance, clients.region, THRIFT_PORT)}")


def _stop(
    clients: Clients, following: Following, bucket: str, cluster: str, running: Step | None, *, dry_run: bool
) -> None:
    from alluvium.emr import steps

    if running is None:
        typer.echo("no server runs")
    elif dry_run:
        typer.echo(f"would end step {running.id}")
    else:
        with _progress_of_step(clients, bucket, steps.token_of(running)) as said:
            steps.end(clients.emr, clients.s3, bucket, cluster, running, said, following)
        typer.echo(f"ended    {running.id}")


@app.command(
    epilog=examples(
        "alluvium emr logs",
        "alluvium emr logs s-1A2B3C4D5E6F7 --follow",
        "alluvium emr logs s-1A2B3C4D5E6F7 --file stdout --lines 100",
    )
)
def logs(
    step: Annotated[str | None, typer.Argument(metavar="STEP", help="Id of a step; all are listed without.")] = None,
    file: Annotated[
        LogFile | None, typer.Option(help="Which of EMR's logs; without, what `build` or `serve` prints, else stderr.")
    ] = None,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="The last lines.")] = 50,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="All that `build` or `serve` prints, until the step has ended.")
    ] = False,
    dry_run: NeverChanges = False,
    stack: StackName = DEFAULT_STACK,
    region: Region = None,
    debug: Debug = False,
) -> None:
    """List the steps of the cluster and their logs, or print the end of one, or one as it grows."""
    from alluvium.emr import cluster as clusters
    from alluvium.emr import logs as texts

    if follow and step is None:
        raise AlluviumError(f"emr: --follow: name a step; '{Following(stack, region).command('logs')}' lists all.")
    if follow and file is not None:
        raise AlluviumError(f"emr: --follow: no --file {file.value}; EMR writes those minutes late.")
    with _clients(stack, region) as (clients, following):
        cluster, found = _cluster(clients, following)
        bucket = found.bucket
        all_steps = clusters.steps(clients.emr, cluster.id)
        if step is not None:
            known = next((one for one in all_steps if one.id == step), None)
            # EMR lists the last thousand; logs of older ones are there.
            if known is None and step not in texts.of_steps(clients.s3, cluster):
                lists = following.command("logs")
                raise AlluviumError(f"emr: there is no step {step} on {cluster.id}; '{lists}' lists all.")
            if follow:
                _follow(clients, following, bucket, cluster.id, step, known)
                return
            own = None if file else _printed(clients, bucket, known)
            name = (file or LogFile.stderr).value
            said = (
                own[-lines:] if own is not None else texts.last_lines(clients.s3, cluster, step, name, lines, following)
            )
            typer.echo("\n".join(said))
            return
        there = texts.of_steps(clients.s3, cluster)
        for one in all_steps:
            typer.echo(f"{one.id}  {one.state:<10} {one.name}  {', '.join(sorted(there.get(one.id, ())))}".rstrip())
        if not there:
            typer.echo(f"no logs below {cluster.log_uri}{cluster.id}/steps/ yet; EMR writes them every five minutes")


def _follow(
    clients: Clients, following: Following, bucket: str | None, cluster: str, step: str, known: Step | None
) -> None:
    from alluvium.emr import steps

    token = steps.token_of(known) if known else None
    if known is None or token is None or bucket is None:
        prints = following.command("logs", step)
        raise AlluviumError(f"emr: --follow: step {step} is none of a build or a server; '{prints}' prints its log.")
    say = steps.following_lines(clients.s3, bucket, token, lambda text: typer.echo(text, nl=False))
    ended = steps.wait(clients.emr, cluster, step, say)
    typer.echo(f"step     {step} {ended.state}{_in_brackets(ended.reason)}", err=True)


@contextmanager
def _clients(stack: str, region: str | None) -> Iterator[tuple[Clients, Following]]:
    """Clients of the region, and the commands for the same stack that a message may name."""
    from alluvium.emr.aws import Clients, one_sentence

    following = Following(stack, region)
    clients = Clients(region)
    with one_sentence(following):
        yield clients, following


@contextmanager
def _spinner(text: str) -> Iterator[Callable[[str], None] | None]:
    """What changes the text of a spinner on a terminal; None elsewhere."""
    console = Console(stderr=True)
    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with shown:
        task = shown.add_task(text, total=None)
        yield (lambda said: shown.update(task, description=said)) if console.is_terminal else None


@contextmanager
def _progress(clients: Clients) -> Iterator[None]:
    from alluvium.emr import stack

    with _spinner("asking CloudFormation") as show:
        if show is not None:
            stack.watch(clients.cloudformation, show)
        yield


@contextmanager
def _progress_of_step(clients: Clients, bucket: str, token: str | None) -> Iterator[Callable[[Step], None]]:
    """What says how a step goes: its last line on a terminal, each new state elsewhere."""
    from alluvium.emr import steps

    last = ""
    with _spinner("asking EMR") as show:

        def said(step: Step) -> None:
            nonlocal last
            if show is not None:
                lines = steps.printed(clients.s3, bucket, token) if token and step.state == "RUNNING" else None
                show(f"{step.id} {step.state} {lines[-1] if lines else ''}".rstrip())
            elif step.state != last:
                typer.echo(f"step     {step.id} {step.state}", err=True)
                last = step.state

        yield said


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise AlluviumError(f"emr: --command {command!r}: {error}; write it as for a shell.") from error


def _given(
    vpc: str | None, subnet: str | None, landing_arn: str | None = None, idle_minutes: int | None = None
) -> dict[str, str]:
    seconds = None if idle_minutes is None else str(idle_minutes * 60)
    said = {"VpcId": vpc, "SubnetId": subnet, "LandingBucketArn": landing_arn, "IdleTimeoutSeconds": seconds}
    return {name: value for name, value in said.items() if value is not None}


def _landing_arn(clients: Clients, bucket: str | None) -> str | None:
    return bucket and f"arn:{clients.partition}:s3:::{bucket}"


def _parameters(said: list[str]) -> dict[str, str]:
    for pair in said:
        if "=" not in pair:
            raise AlluviumError(f"emr: --parameter {pair}: write NAME=VALUE.")
    return dict(pair.split("=", 1) for pair in said)


def _living_cluster(clients: Clients, stack: Stack) -> Cluster | None:
    """The cluster of a stack; None where there is none, or it has ended."""
    from alluvium.emr import cluster as clusters

    found = clusters.find(clients.emr, stack.cluster) if stack.cluster else None
    return None if found is None or found.has_ended else found


def _next_cluster(clients: Clients, stack: Stack) -> dict[str, str]:
    """CloudFormation does not notice that a cluster has ended itself; another number makes it start one."""
    if stack.cluster is None or _living_cluster(clients, stack) is not None:
        return {}
    return {"ClusterNumber": str(int(stack.parameters.get("ClusterNumber", "1")) + 1)}


def _running_step(clients: Clients, stack: Stack) -> Step | None:
    """The step that ends with the cluster of a stack; None where none runs or waits."""
    from alluvium.emr import cluster as clusters

    cluster = _living_cluster(clients, stack)
    known = clusters.steps(clients.emr, cluster.id) if cluster else []
    return next((step for step in known if not step.has_ended), None)


def _require_no_step(clients: Clients, stack: Stack, planned: ChangeSet, following: Following) -> None:
    from alluvium.emr import stack as stacks
    from alluvium.emr import steps

    step = _running_step(clients, stack)
    if step is None:
        return
    stacks.discard(clients.cloudformation, planned)
    is_server = steps.server([step]) is not None
    first = f"end it with '{following.command('serve', '--stop')}'" if is_server else "wait for its end"
    raise AlluviumError(
        f"emr: cluster {stack.cluster} would be replaced, and step {step.id} ({step.name}) is {step.state} there; "
        f"{first}, or say --yes. Nothing was changed."
    )


def _require_bucket(clients: Clients, name: str, said: str, following: Following) -> None:
    from alluvium.emr import project

    if not project.is_bucket(clients.s3, name):
        lists = following.aws("s3", "ls")
        raise AlluviumError(f"emr: {said}: there is no such bucket; '{lists}' lists all.")


def _has_bucket(clients: Clients, stack: Stack) -> bool:
    """Whether the bucket of a stack is there: somebody may have deleted it."""
    from alluvium.emr import project

    return stack.bucket is not None and project.is_bucket(clients.s3, stack.bucket)


def _bucket(stack: Stack, following: Following) -> str:
    if stack.bucket is None:
        raise AlluviumError(
            f"emr: stack {stack.name} is {stack.status} and has no bucket; {stack.next_step(following)}."
        )
    return stack.bucket


def _cluster(clients: Clients, following: Following) -> tuple[Cluster, Stack]:
    """The cluster of a stack, and the stack."""
    from alluvium.emr import cluster as clusters
    from alluvium.emr import stack as stacks

    stack = stacks.require(clients.cloudformation, following, clients.region)
    found = clusters.find(clients.emr, stack.cluster) if stack.cluster else None
    if found is None:
        raise AlluviumError(
            f"emr: stack {stack.name} is {stack.status} and has no cluster; {stack.next_step(following)}."
        )
    return found, stack


def _running(clients: Clients, following: Following) -> tuple[Cluster, str]:
    """A cluster that takes steps, and the name of the bucket."""
    cluster, stack = _cluster(clients, following)
    if cluster.is_ending:
        reason = _in_brackets(cluster.reason)
        first = "" if cluster.has_ended else "wait until it has ended, then "
        raise AlluviumError(
            f"emr: cluster {cluster.id} is {cluster.state}{reason}; {first}{stack.next_step(following)}."
        )
    return cluster, _bucket(stack, following)


def _printed(clients: Clients, bucket: str | None, step: Step | None) -> list[str] | None:
    from alluvium.emr import steps

    token = steps.token_of(step) if step else None
    return steps.printed(clients.s3, bucket, token) if token and bucket else None


def _port_forwarding(instance: str, region: str, port: int) -> str:
    return (
        f"aws ssm start-session --region {region} --target {instance} "
        f"--document-name AWS-StartPortForwardingSession --parameters portNumber={port},localPortNumber={port}"
    )


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
