"""The subnet that a cluster is to be in."""

from __future__ import annotations

from typing import Any

from alluvium import AlluviumError
from alluvium.emr.following import Following

__all__ = ["check_subnet"]

# AmazonEMRServicePolicy_v2 lets EMR start nodes in networks with this tag alone.
TAG = "for-use-with-amazon-emr-managed-policies"


def check_subnet(ec2: Any, vpc: str, subnet: str, following: Following) -> None:
    """See whether EMR can start a cluster in a subnet.

    Args:
        ec2: client of the region.
        vpc: id of the VPC that the subnet is said to be in.
        subnet: its id.
        following: commands that the error names.

    Raises:
        AlluviumError: it is in another VPC, is public, or has not the tag.
        ClientError: there is no such subnet, or the account may not see it.
    """
    (found,) = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    if found["VpcId"] != vpc:
        raise AlluviumError(
            f"emr: subnet {subnet} is in {found['VpcId']} and not in {vpc}; say --vpc {found['VpcId']}."
        )
    if found.get("MapPublicIpOnLaunch"):
        raise AlluviumError(
            f"emr: subnet {subnet} gives its instances public addresses; name a private one with --subnet."
        )
    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}
    if tags.get(TAG) != "true":
        tagged = following.aws("ec2", "create-tags", "--resources", subnet, "--tags", f"Key={TAG},Value=true")
        raise AlluviumError(
            f"emr: subnet {subnet} lacks the tag without which EMR may start nothing in it; run '{tagged}'."
        )
