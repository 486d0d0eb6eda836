"""S3 as a file system of the embedded Spark: hadoop-aws, where a project has files there. A cluster has its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from alluvium.runtime import java

__all__ = ["LOCK", "is_configured", "is_meant", "region", "with_defaults"]

# hadoop-aws of the Hadoop that PySpark has, with the SDK that it was released with.
LOCK = Path(__file__).with_name("jars-s3-spark4.lock" if java.IS_SPARK_4 else "jars-s3.lock")
OPTION = "spark.hadoop.fs.s3a."
FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"
# Hadoop's own default knows neither profiles nor single sign-on, which `alluvium inspect` does (boto3).
CREDENTIALS = (
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
    if java.IS_SPARK_4
    else "com.amazonaws.auth.DefaultAWSCredentialsProviderChain"
)
ADDRESS = re.compile(r"s3a?://")
# Not what is said behind a `#`.
MENTION = re.compile(r"^[^#\n]*\bs3a?://", re.MULTILINE)
ENVIRONMENT_VARIABLE = re.compile(r"env_var\(\s*['\"](\w+)")


def is_configured(settings: Mapping[str, str]) -> bool:
    """Whether Spark settings have options of S3A.

    Args:
        settings: Spark's, by name.
    """
    return any(name.startswith(OPTION) for name in settings)


def is_meant(settings: Mapping[str, str], project_directory: Path, environ: Mapping[str, str]) -> bool:
    """Whether a session is to know S3: its settings say so, or the YAML of the project's models names a bucket.

    Args:
        settings: Spark's, by name.
        project_directory: of the dbt project.
        environ: variables that the YAML may name.
    """
    if is_configured(settings) or any(ADDRESS.match(value) for value in settings.values()):
        return True
    for text in _texts(project_directory):
        named = (environ.get(name, "") for name in ENVIRONMENT_VARIABLE.findall(text))
        if MENTION.search(text) or any(ADDRESS.match(value) for value in named):
            return True
    return False


def _texts(project_directory: Path) -> Iterator[str]:
    """The YAML of the models as text: before every session 20 ms for 140 files, where decoding them takes 0.3 s."""
    try:
        project = yaml.safe_load((project_directory / "dbt_project.yml").read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError):
        return  # dbt says what is wrong with it
    for folder in project.get("model-paths") or ["models"]:
        for directory, _, names in os.walk(project_directory / folder):
            for name in names:
                if name.endswith((".yml", ".yaml")):
                    yield Path(directory, name).read_text(encoding="utf-8", errors="replace")


def region(environ: Mapping[str, str]) -> str | None:
    """The region that the environment names: as the AWS SDKs read it, which boto3 alone does not (AWS_REGION).

    Args:
        environ: of the process.
    """
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None


def with_defaults(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """`settings` with S3A's for both forms of an address, and with what the AWS SDKs take from the environment.

    Args:
        settings: Spark's, by name; what they have stays.
        environ: of the process.
    """
    defaults = {
        f"{OPTION}impl": FILE_SYSTEM,
        # Addresses as EMR and the AWS command line write them.
        "spark.hadoop.fs.s3.impl": FILE_SYSTEM,
        f"{OPTION}aws.credentials.provider": CREDENTIALS,
        # Hudi (1.2.0) leaves streams open: with Hadoop's 96 (3.3.4) a build waits for a connection until it fails.
        f"{OPTION}connection.maximum": "1000",
    }
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        defaults |= {f"{OPTION}endpoint": endpoint, f"{OPTION}path.style.access": "true"}
    named = region(environ)
    if named:
        defaults[f"{OPTION}endpoint.region"] = named
    return {**defaults, **settings}
