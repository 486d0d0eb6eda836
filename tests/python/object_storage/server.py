"""An S3 server of this machine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def lake() -> Iterator[Any]:
    """The bucket `lake`, reached through the standard chain as any other: environment and default endpoint."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "tests")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
        patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        bucket = boto3.resource("s3").Bucket("lake")
        bucket.create(CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        yield bucket
        # Another server of this process would have it still.
        bucket.objects.all().delete()
        bucket.delete()
    server.stop()
