"""Clients of AWS, and its errors in one sentence with the next step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004  # botocore's own, which has no other name
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
    UnknownRegionError,
)
from botocore.parsers import ResponseParserError

from alluvium import AlluviumError
from alluvium.emr.following import Following
from alluvium.runtime import object_storage

__all__ = ["Clients", "bucket_is_gone", "code", "one_sentence"]

SIGN_IN = "sign in with 'aws configure' or 'aws sso login', or set AWS_PROFILE"
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "403"})
REFUSED_CREDENTIALS = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
NO_SUBNET = frozenset({"InvalidSubnetID.NotFound", "InvalidSubnetID.Malformed", "InvalidSubnetId.Malformed"})


class Clients:
    """Clients of one region, with the credentials of boto3's standard chain."""

    def __init__(self, region: str | None = None) -> None:
        """Does not ask AWS.

        Args:
            region: of the stack; AWS_REGION, AWS_DEFAULT_REGION or the profile says it by default.

        Raises:
            AlluviumError: no region is set, or there is none of the name.
        """
        with one_sentence():
            self._session = boto3.Session(region_name=region or object_storage.region(os.environ))
            if not self._session.region_name:
                raise NoRegionError
            self.region: str = self._session.region_name
            self.partition: str = self._session.get_partition_for_region(self.region)

    @cached_property
    def cloudformation(self) -> Any:
        """Stacks."""
        return self._client("cloudformation")

    @cached_property
    def ec2(self) -> Any:
        """Subnets."""
        return self._client("ec2")

    @cached_property
    def emr(self) -> Any:
        """Clusters."""
        return self._client("emr")

    @cached_property
    def s3(self) -> Any:
        """Buckets."""
        return self._client("s3")

    @cached_property
    def sts(self) -> Any:
        """Who asks."""
        return self._client("sts")

    def _client(self, service: str) -> Any:
        return self._session.client(service, config=Config(retries={"mode": "standard", "max_attempts": 5}))


def code(error: ClientError) -> str:
    """What AWS calls an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def one_sentence(following: Following | None = None) -> Iterator[None]:
    """Turn what botocore raises into a sentence that says what to do.

    Args:
        following: commands that the sentence names; those of the default stack by default.

    Raises:
        AlluviumError: botocore has raised something.
    """
    try:
        yield
    except ClientError as error:
        raise AlluviumError(_sentence_of_answer(error, following or Following())) from error
    except BotoCoreError as error:
        raise AlluviumError(_sentence(error)) from error
    except ResponseParserError as error:
        # As from a proxy, whose page is no answer of AWS; botocore has it apart from its other errors.
        raise AlluviumError(
            f"emr: what answers is not AWS ({_without_stop(error).partition(', further')[0]}); check the proxy, "
            "AWS_ENDPOINT_URL and --region."
        ) from error


def bucket_is_gone(name: str, following: Following) -> str:
    """What to do without the bucket of a stack.

    Args:
        name: of the bucket.
        following: commands that the sentence names.
    """
    down, up = following.command("down"), following.command("up", "--vpc", "VPC", "--subnet", "SUBNET")
    return f"emr: bucket {name} is not there any more, with what was in it; '{down}', then '{up}' makes another."


def _sentence(error: BotoCoreError) -> str:
    if isinstance(error, NoRegionError):
        return "emr: no AWS region is set; say --region, or set AWS_REGION."
    if isinstance(error, UnknownRegionError):
        return (
            f"emr: AWS has no region {error.kwargs['region_name']}; --region or AWS_REGION says one, "
            "a region is written like eu-central-1."
        )
    if isinstance(error, ProfileNotFound):
        profile = error.kwargs["profile"]
        return f"emr: AWS_PROFILE is {profile}, and there is no such profile; see 'aws configure list-profiles'."
    if isinstance(error, NoCredentialsError):
        return f"emr: there are no AWS credentials; {SIGN_IN}."
    if isinstance(error, (PartialCredentialsError, CredentialRetrievalError, TokenRetrievalError, SSOError)):
        return f"emr: the AWS credentials cannot be had ({_without_stop(error)}); {SIGN_IN}."
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return f"emr: AWS is not reached ({_without_stop(error)}); check --region and the network."
    return f"emr: {_without_stop(error)}; --debug shows where."


def _sentence_of_answer(error: ClientError, following: Following) -> str:
    name, said = code(error), _without_stop(error.response.get("Error", {}).get("Message", ""))
    operation = error.operation_name
    if name in DENIED:
        return (
            f"emr: AWS does not allow {operation} ({said or name}); "
            "have an administrator allow what docs/guide/emr.md lists."
        )
    if name in REFUSED_CREDENTIALS:
        return (
            f"emr: AWS does not take the credentials ({said or name}); {SIGN_IN}. It answers so, too, in a region that "
            "the account has not enabled."
        )
    if name in NO_SUBNET:
        subnets = following.aws("ec2", "describe-subnets")
        return f"emr: {said}; '{subnets}' lists those of the region, --subnet names one."
    if name == "NoSuchBucket":
        return bucket_is_gone(error.response.get("Error", {}).get("BucketName", "of the stack"), following)
    if "Throttl" in name or name == "RequestLimitExceeded":
        return f"emr: AWS takes no more requests for now ({name}); run the command again in a minute."
    if "LimitExceeded" in name or "QuotaExceeded" in name:
        return (
            f"emr: a quota of the account is reached ({name}: {said}); raise it in Service Quotas, or take fewer nodes."
        )
    return f"emr: AWS refuses {operation} ({name}: {said}); --debug shows where."


def _without_stop(said: object) -> str:
    return " ".join(str(said).split()).rstrip(".")
