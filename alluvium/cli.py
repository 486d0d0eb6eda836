"""The command line, ``alluvium``."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from alluvium import AlluviumError
from alluvium.inspection import LocationError, Sampling
from alluvium.inspection import inspect as inspect_location
from alluvium.inspection.report import as_json, print_inspection

EXIT_CODES = """
Exit codes: 0 done; 1 an error, said in one sentence; 2 the command line is not understood.
"""

app = typer.Typer(
    name="alluvium",
    help="Tables that can be trusted from a bucket of change files." + EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _app() -> None:
    """Keeps the commands named while there is one of them only."""


@app.command(
    epilog="Examples: alluvium inspect landing/shop   "
    "alluvium inspect s3://bucket/topics --json | jq '.entities[].name'",
)
def inspect(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A local folder or file, or s3://bucket/prefix.")],
    as_json_text: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    objects: Annotated[int, typer.Option(min=1, help="Read at most this many objects of a topic.")] = Sampling.objects,
    megabytes: Annotated[
        int, typer.Option(min=1, help="Read at most this much of an object, from its beginning.")
    ] = Sampling.object_bytes // 1024**2,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Look at a folder of change files: topics, keys, columns and their types, offsets, and what is broken.

    Nothing is written, and no Spark is started. S3 is read with the standard chain of credentials
    (AWS_PROFILE, AWS_ENDPOINT_URL, ...).
    """
    sampling = Sampling(objects, megabytes * 1024**2)
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
        found = inspect_location(
            path,
            sampling,
            begin=lambda total: progress.update(task, total=total),
            advance=lambda count: progress.advance(task, count),
        )
    if as_json_text:
        typer.echo(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        print_inspection(Console(), found)


def main() -> None:
    """Run the command line; an error that has a remedy is one sentence, with ``--debug`` a traceback as well."""
    try:
        app()
    except (AlluviumError, LocationError) as error:
        if "--debug" in sys.argv:
            raise
        Console(stderr=True, soft_wrap=True).print(f"alluvium: {error}", style="red", markup=False, highlight=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
