"""The command line, ``alluvium``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from alluvium import AlluviumError, __version__
from alluvium.diagnosis import diagnose
from alluvium.diagnosis.report import print_findings
from alluvium.emr import command as emr
from alluvium.inspection import Inspection, Sampling
from alluvium.inspection import inspect as inspect_location
from alluvium.inspection.report import as_json as inspection_as_json
from alluvium.inspection.report import print_inspection
from alluvium.new_project import create, package_directory
from alluvium.options import Debug, examples
from alluvium.pages import page
from alluvium.query import ROWS_ON_A_TERMINAL, Format
from alluvium.runtime import profile
from alluvium.scaffolding import Choices, plan
from alluvium.scaffolding.report import print_scaffold
from alluvium.server import hosting
from alluvium.spark_udfs.record import describe

EXIT_CODES = """
Exit codes: 0 done; 1 an error, said in one sentence; 2 the command line is not understood; 3 the doctor found an error.
"""

ERROR_FOUND = 3


class Deletes(str, Enum):
    """Values of ``--deletes``."""

    soft = "soft"
    hard = "hard"


class FileFormat(str, Enum):
    """Values of ``--file-format``."""

    delta = "delta"
    hudi = "hudi"


app = typer.Typer(
    name="alluvium",
    help="Tables that can be trusted from a bucket of change files." + EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"alluvium {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What stands before a command."""


WIDTH_OF_A_PIPE = 10_000


def _console() -> Console:
    """For reports: a terminal's lines break at its edge; nobody has to join those of a pipe again."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH_OF_A_PIPE)


Location = Annotated[str, typer.Argument(metavar="PATH", help="A local folder or file, or s3://bucket/prefix.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Objects = Annotated[int, typer.Option(min=1, help="Read at most this many objects of a topic.")]
Megabytes = Annotated[int, typer.Option(min=1, help="Read at most this much of an object, from its beginning.")]
ProjectDirectory = Annotated[Path | None, typer.Option(envvar="DBT_PROJECT_DIR", help="Directory of dbt_project.yml.")]
ProfilesDirectory = Annotated[Path | None, typer.Option(envvar="DBT_PROFILES_DIR", help="Directory of profiles.yml.")]
DEFAULT_MEGABYTES = Sampling.object_bytes // 1024**2


@app.command(
    epilog=examples(
        "alluvium inspect landing/shop", "alluvium inspect s3://bucket/topics --json | jq '.entities[].name'"
    ),
)
def inspect(
    path: Location,
    as_json: AsJson = False,
    objects: Objects = Sampling.objects,
    megabytes: Megabytes = DEFAULT_MEGABYTES,
    debug: Debug = False,
) -> None:
    """Look at a folder of change files: topics, keys, columns and their types, offsets, and what is broken.

    Nothing is written, and no Spark is started.
    S3 is read with the standard chain of credentials (AWS_PROFILE, AWS_ENDPOINT_URL, ...).
    """
    found = _inspected(path, Sampling(objects, megabytes * 1024**2))
    if as_json:
        _print_json(inspection_as_json(found))
    else:
        print_inspection(_console(), found)


@app.command(
    epilog=examples(
        "alluvium doctor landing/shop",
        "alluvium doctor s3://bucket/topics --connector source.json --connector sink.json",
    ),
)
def doctor(
    path: Location,
    connector: Annotated[
        list[Path] | None, typer.Option(help="A connector's configuration, as Kafka Connect takes it; more than once.")
    ] = None,
    project_dir: Annotated[
        Path | None,
        typer.Option(help="dbt project whose sources may declare keys; the current directory if it is one."),
    ] = None,
    as_json: AsJson = False,
    objects: Objects = Sampling.objects,
    megabytes: Megabytes = DEFAULT_MEGABYTES,
    debug: Debug = False,
) -> None:
    """Say what will go wrong with a folder of change files, or has: with evidence, remedy and a page for each.

    Ends with 3 where data is lost or may be wrong.
    """
    project = project_dir or (Path() if Path("dbt_project.yml").is_file() else None)
    found = diagnose(_inspected(path, Sampling(objects, megabytes * 1024**2)), connector or (), project)
    if as_json:
        _print_json([asdict(finding) for finding in found])
    else:
        print_findings(_console(), found)
    if any(finding.is_error for finding in found):
        raise typer.Exit(ERROR_FOUND)


@app.command(epilog=examples("alluvium explain truncates-not-sent", "alluvium explain docs/guide/operating.md"))
def explain(
    name: Annotated[
        str, typer.Argument(metavar="PAGE", help="A code that the doctor has found, or a page of the guide.")
    ],
    debug: Debug = False,
) -> None:
    """Print a page that a message names: of one of the doctor's codes, or of the guide, with or without its folder."""
    text = page(name)
    console = _console()
    console.print(Markdown(text)) if console.is_terminal else typer.echo(text)


@app.command(
    epilog=examples(
        "alluvium scaffold landing/shop --source shop",
        "alluvium scaffold s3://bucket/topics --source erp --entities orders --entities customers --history",
    ),
)
def scaffold(
    path: Location,
    source: Annotated[str, typer.Option(help="Name of the dbt source; the tables are silver.slv_<source>__<entity>.")],
    entities: Annotated[list[str] | None, typer.Option(help="Only this entity; more than once.")] = None,
    file_format: Annotated[
        FileFormat | None, typer.Option(help="Of states and histories; new ones have the project's by default.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="A history of each entity, too.")] = False,
    deletes: Annotated[
        Deletes | None,
        typer.Option(help="What a deleted row keeps: its last values (soft, as new states have it), or its key alone."),
    ] = None,
    project_dir: Annotated[Path, typer.Option(help="Directory of dbt_project.yml.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that were edited by hand.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    objects: Objects = Sampling.objects,
    megabytes: Megabytes = DEFAULT_MEGABYTES,
    debug: Debug = False,
) -> None:
    """Write sources and models for a folder of change files, with their YAML, tests and descriptions.

    Again, after new entities or columns appeared: they are added; a file that was edited by hand is shown and left.
    """
    found = _inspected(path, Sampling(objects, megabytes * 1024**2))
    keeps, format_ = deletes.value if deletes else None, file_format.value if file_format else None
    planned = plan(found, source, project_dir, Choices(entities or (), history, keeps, format_, force))
    # Before the report: what is said to be written is, also where nobody reads on.
    if not dry_run:
        planned.write(project_dir)
    print_scaffold(_console(), planned, is_dry=dry_run)


@app.command(
    epilog=examples(
        "alluvium sql",
        "alluvium sql -e 'select * from silver.slv_shop__orders'",
        "echo 'select 1' | alluvium sql --format csv",
    ),
)
def sql(
    execute: Annotated[list[str] | None, typer.Option("-e", "--execute", help="Run this; more than once.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Run the statements of this file.")] = None,
    form: Annotated[Format, typer.Option("--format", help="How results are written.")] = Format.table,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of the standard output.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help=f"At most so many rows; 0 for all. A table on a terminal: {ROWS_ON_A_TERMINAL}."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Run statements that change something, too.")] = False,
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: Annotated[str | None, typer.Option(help="The profile's target.")] = None,
    debug: Debug = False,
) -> None:
    """Look at the tables with SQL: statements from -e, a file or a pipe, else from a prompt.

    Runs on the target of the dbt profile, whose schema is the current one. Only queries run, unless --write is said.

    csv: NULL is an empty field, an empty text is ""; binary is hexadecimal.
    jsonl: numbers with all their digits, more than JavaScript's have; NaN and Infinity are strings; binary is base64.
    Timestamps are in UTC. Spark's messages go to the standard error.
    """
    # PySpark takes a second to import: no other command waits for it.
    from alluvium.query import command
    from alluvium.query.output import Output

    texts = command.texts_to_run(execute or (), file)
    shown = Output(form, output, limit)
    found = profile.read_target(project_dir, profiles_dir, target)
    command.run(texts, shown, found, may_write=write, is_quiet=not debug)


FAILED = 1


@app.command(epilog=examples("alluvium run --every 5m", "alluvium run --every 30s -- --select +slv_shop__orders+"))
def run(
    options: Annotated[
        list[str] | None, typer.Argument(metavar="-- OPTIONS", help="Options of `dbt build`, such as --select.")
    ] = None,
    every: Annotated[
        str, typer.Option(help="From the start of a build to the start of the next: 30s, 5m, 1h; 0 for no pause.")
    ] = "5m",
    builds: Annotated[int | None, typer.Option(min=1, help="End after this many builds.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per build, for machines.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print all of dbt's lines, not only errors.")] = False,
    debug: Debug = False,
) -> None:
    """Run `dbt build` again and again in one process, which keeps its Spark session and the parsed project.

    The first SIGTERM or Ctrl-C ends it after the running build, a second one stops that build.
    Ends with 1 where the last build failed, Spark has died, or another `alluvium run` builds on the warehouse.
    """
    from alluvium.builds.schedule import seconds_of

    try:
        seconds = seconds_of(every)
        # dbt takes seconds to import: no other command waits for it.
        from alluvium.builds import command

        command.options_of_build(options or ())
    except AlluviumError as error:
        raise typer.BadParameter(str(error)) from error
    if not command.run(options or (), seconds, builds, is_json=as_json, is_verbose=verbose):
        raise typer.Exit(FAILED)


@app.command(epilog=examples("alluvium new analytics", "alluvium new projects/erp --name erp_tables"))
def new(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The project's directory; it is made, or empty.")],
    name: Annotated[str | None, typer.Option(help="Name of the project; the directory's by default.")] = None,
    debug: Debug = False,
) -> None:
    """Make a dbt project that uses Alluvium as a package, ready for `alluvium scaffold` and `dbt build`.

    It has a profile (Spark in dbt's own process), the package in place, and a file for CI.
    """
    for path in create(directory, name):
        typer.echo(f"new      {path}")
    typer.echo(
        f"\nNext, with the folder or bucket of your change files for PATH:\n\n  cd {shlex.quote(str(directory))}\n"
        "  alluvium inspect PATH\n  alluvium doctor PATH\n  alluvium scaffold PATH --source shop\n  dbt build"
    )


serve = typer.Typer(
    no_args_is_help=True, help="Spark's Thrift server with the session of a target: `dbt build --target thrift`."
)
app.add_typer(serve, name="serve")

ServedTarget = Annotated[
    str | None, typer.Option(help="The profile's target whose settings the server has; its method is session.")
]
Host = Annotated[str, typer.Option(help="Where it listens; other machines need passwords and TLS.")]
Port = Annotated[int, typer.Option(min=1, max=65535, envvar="ALLUVIUM_THRIFT_PORT")]
NOT_RUNNING = 1


@serve.command("run")
def serve_run(
    host: Host = hosting.HOST,
    port: Port = hosting.PORT,
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: ServedTarget = None,
    debug: Debug = False,
) -> None:
    """Serve in the foreground, until Ctrl-C or SIGTERM; for containers."""
    hosting.run(profile.session_target(project_dir, profiles_dir, target), host, port)


@serve.command("start", epilog=examples("alluvium serve start", "dbt build --target thrift", "alluvium serve stop"))
def serve_start(
    host: Host = hosting.HOST,
    port: Port = hosting.PORT,
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: ServedTarget = None,
    debug: Debug = False,
) -> None:
    """Start a server in the background, and wait until it listens."""
    found = profile.session_target(project_dir, profiles_dir, target)
    options = {"--project-dir": found.project_directory, "--profiles-dir": profiles_dir, "--target": found.name}
    named = tuple(part for name, value in options.items() if value is not None for part in (name, str(value)))
    typer.echo(f"listening at {hosting.start(found, host, port, named)}")


@serve.command("status")
def serve_status(
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: ServedTarget = None,
    debug: Debug = False,
) -> None:
    """Say whether a server runs, and where. Ends with 1 where none does."""
    address = hosting.Place(profile.session_target(project_dir, profiles_dir, target)).address()
    typer.echo(f"listening at {address}" if address else "no server runs: alluvium serve start")
    if address is None:
        raise typer.Exit(NOT_RUNNING)


@serve.command("stop")
def serve_stop(
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: ServedTarget = None,
    debug: Debug = False,
) -> None:
    """End the server, and wait until it has ended."""
    stopped = hosting.stop(profile.session_target(project_dir, profiles_dir, target))
    typer.echo(f"stopped {stopped}" if stopped else "no server runs")


@serve.command("logs")
def serve_logs(
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="The last lines.")] = 50,
    project_dir: ProjectDirectory = None,
    profiles_dir: ProfilesDirectory = None,
    target: ServedTarget = None,
    debug: Debug = False,
) -> None:
    """Print the end of what the server and Spark have said."""
    said = hosting.Place(profile.session_target(project_dir, profiles_dir, target)).last_lines(lines)
    typer.echo(said or "no log: no server was started yet")


app.add_typer(emr.app, name="emr")


@app.command()
def package() -> None:
    """Print where Alluvium's dbt package is: ALLUVIUM_PACKAGE="$(alluvium package)" dbt deps."""
    typer.echo(package_directory())


def _inspected(path: str, sampling: Sampling) -> Inspection:
    progress = Progress(
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with progress:
        task = progress.add_task("reading", total=None)
        return inspect_location(
            path,
            sampling,
            begin=lambda total: progress.update(task, total=total),
            advance=lambda count: progress.advance(task, count),
        )


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def main() -> None:
    """Run the command line; an error is one sentence, with ``--debug`` a traceback as well."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except Exception as error:
        if isinstance(error, OSError):
            _give_up_output()
        if "--debug" in sys.argv:
            raise
        if not isinstance(error, BrokenPipeError):
            said = Console(stderr=True, soft_wrap=True)
            said.print(f"alluvium: {_sentence(error)}", style="red", markup=False, highlight=False)
        sys.exit(1)


def _sentence(error: Exception) -> str:
    if isinstance(error, AlluviumError):
        return str(error)
    if isinstance(error, UnicodeEncodeError):
        return _sentence_of_characters(error)
    if isinstance(error, OSError):
        subject = error.filename or "the output, or a file that is read"
        return f"{subject}: {error.strerror or error}; --debug shows where."
    if isinstance(error, UnicodeError):
        return f"a text is not in UTF-8 ({error}); --debug shows which."
    return f"an error of its own: {describe(error)}; run it again with --debug for the traceback."


def _sentence_of_characters(error: UnicodeEncodeError) -> str:
    if not "\ud800" <= error.object[error.start] <= "\udfff":
        return f"the output takes {error.encoding} alone, which has not every character; set PYTHONIOENCODING=utf-8."
    word = ascii(next(word for word in error.object.split() if error.object[error.start] in word))
    return (
        f"the files have a name or a text with half of a character, which UTF-8 cannot write ({word}): mend it in "
        "the source, or have the connector rename the column or leave it out (ReplaceField)."
    )


def _give_up_output() -> None:
    """What is left in the buffer would fail once more when the interpreter ends, with a traceback."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
