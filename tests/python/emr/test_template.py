"""deploy/emr/cluster.yaml: what an auditor asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import yaml
from botocore.validate import ParamValidator
from cfnlint import api  # type: ignore[import-untyped]  # cfn-lint has no annotations

from alluvium.emr import steps, template

REPOSITORY = Path(__file__).resolve().parents[3]
TEMPLATE = REPOSITORY / "deploy" / "emr" / "cluster.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
RESOURCES: dict[str, dict[str, Any]] = DOCUMENT["Resources"]
EMR_TAG = {"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}
# Statements that may name every resource, and why.
ON_EVERYTHING = {
    ("VolumeKey", "AdministeredByTheAccount"): "in the policy of a key, * is this key",
    ("VolumeKey", "UsedByEmr"): "in the policy of a key, * is this key",
    ("VolumeKey", "GrantedToVolumes"): "in the policy of a key, * is this key",
    (
        "InstanceRole",
        "PortForwarding",
    ): "as AWS lists them for Session Manager; channels have no name before",
}
# AWS's own policies, which a role needs and this project does not write.
MANAGED = {
    "ServiceRole": ["policy/service-role/AmazonEMRServicePolicy_v2"],
    "InstanceRole": [],
}


def properties(name: str) -> dict[str, Any]:
    found: dict[str, Any] = RESOURCES[name]["Properties"]
    return found


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {name: declared["Properties"] for name, declared in RESOURCES.items() if declared["Type"] == kind}


def statements(value: Any) -> Iterator[dict[str, Any]]:
    """Every statement of every policy, however deep it is."""
    if isinstance(value, dict):
        yield from value.get("Statement", [])
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from statements(part)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def cidrs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in {"CidrIp", "CidrIpv6"}:
                yield part
            yield from cidrs(part)
    elif isinstance(value, list):
        for part in value:
            yield from cidrs(part)


def test_cfn_lint_finds_nothing() -> None:
    found = api.lint_file(TEMPLATE)
    assert [str(match) for match in found] == []


def test_every_pattern_says_what_is_allowed_and_takes_the_default() -> None:
    shipped = template.shipped()
    for name, declared in shipped.parameters.items():
        assert ("AllowedPattern" in declared) == ("ConstraintDescription" in declared), name
        if "Default" in declared:
            shipped.check({name: str(declared["Default"])})
    shipped.check_counts({})
    for kind in ("c7gd.16xlarge", "u-6tb1.112xlarge", "x2iedn.metal"):
        shipped.check({"CoreInstanceType": kind})


def test_package_has_the_template() -> None:
    assert template.shipped().body == TEMPLATE.read_text(encoding="utf-8")
    assert (REPOSITORY / "alluvium" / "emr" / "cluster.yaml").is_symlink()


def test_template_is_short_enough_to_be_sent() -> None:
    assert len(TEMPLATE.read_bytes()) < 51_200


def test_nobody_reaches_the_cluster_from_outside() -> None:
    groups, rules = of_kind("AWS::EC2::SecurityGroup"), of_kind("AWS::EC2::SecurityGroupIngress")
    assert all("SecurityGroupIngress" not in group for group in groups.values())
    assert rules
    assert all(rule["SourceSecurityGroupId"]["Fn::GetAtt"][0] in groups for rule in rules.values())
    assert list(cidrs(DOCUMENT)) == []


def test_emr_has_nothing_to_add_to_the_groups() -> None:
    ports = {
        (
            rule["GroupId"]["Fn::GetAtt"][0],
            rule["SourceSecurityGroupId"]["Fn::GetAtt"][0],
            rule["IpProtocol"],
            rule["FromPort"],
            rule["ToPort"],
        )
        for rule in of_kind("AWS::EC2::SecurityGroupIngress").values()
    }
    nodes, service = "ClusterSecurityGroup", "ServiceAccessSecurityGroup"
    assert ports == {
        (nodes, nodes, "tcp", 0, 65535),
        (nodes, nodes, "udp", 0, 65535),
        (nodes, nodes, "icmp", -1, -1),
        (nodes, service, "tcp", 8443, 8443),
        (service, nodes, "tcp", 9443, 9443),
    }
    assert set(of_kind("AWS::EC2::SecurityGroupIngress")) == set(RESOURCES["Cluster"]["DependsOn"])
    instances = properties("Cluster")["Instances"]
    assert instances["ServiceAccessSecurityGroup"] == {"Fn::GetAtt": [service, "GroupId"]}
    assert "Ec2KeyName" not in instances


def test_bucket_is_private_encrypted_and_kept() -> None:
    assert list(of_kind("AWS::S3::Bucket")) == ["DataBucket"]
    bucket = properties("DataBucket")
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    for name in ("DataBucket", "DataBucketPolicy"):
        assert (RESOURCES[name]["DeletionPolicy"], RESOURCES[name]["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_lifecycle_never_ends_a_current_object_of_a_table() -> None:
    rules = properties("DataBucket")["LifecycleConfiguration"]["Rules"]
    assert [rule["Prefix"] for rule in rules if "ExpirationInDays" in rule] == ["emr-logs/"]
    # S3 takes no rule with both.
    assert [rule["Id"] for rule in rules if rule.get("ExpiredObjectDeleteMarker")] == ["noncurrent-versions"]


def test_bucket_is_reached_by_tls_alone() -> None:
    (statement,) = properties("DataBucketPolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2


def test_no_statement_allows_everything() -> None:
    everywhere = set()
    for name, declared in RESOURCES.items():
        for statement in statements(declared["Properties"]):
            if statement["Effect"] == "Deny":
                continue
            assert not [action for action in listed(statement["Action"]) if "*" in action], name
            if "*" in listed(statement.get("Resource", [])):
                everywhere.add((name, statement["Sid"]))
            assert statement.get("Principal") != "*"
            assert "NotAction" not in statement
            assert "NotResource" not in statement
    assert everywhere == set(ON_EVERYTHING)


def test_policies_of_aws_are_those_that_are_needed() -> None:
    for name, expected in MANAGED.items():
        arns = [arn["Fn::Sub"].partition(":iam::aws:")[2] for arn in properties(name).get("ManagedPolicyArns", [])]
        assert arns == expected


def test_instances_have_the_bucket_the_landing_bucket_and_three_databases() -> None:
    policies = {
        (policy["Fn::If"][1] if "Fn::If" in policy else policy)["PolicyName"]: policy
        for policy in properties("InstanceRole")["Policies"]
    }
    assert set(policies) == {"port-forwarding", "data-bucket", "landing-bucket", "glue-databases"}
    assert policies["landing-bucket"]["Fn::If"][0] == "ReadsLandingBucket"
    actions = {action for found in statements(policies["landing-bucket"]) for action in listed(found["Action"])}
    assert actions == {"s3:ListBucket", "s3:GetBucketLocation", "s3:GetObject"}
    writing, listing, making, reading = statements(policies["glue-databases"])
    written = {arn["Fn::Sub"].rpartition(":")[2] for arn in writing["Resource"]}
    assert {name for name in written if name.startswith("database/")} == {
        "database/bronze",
        "database/silver",
        "database/gold",
    }
    assert all(action.startswith("glue:Get") for action in reading["Action"])
    assert listing["Action"] == "glue:GetDatabases"
    assert [arn["Fn::Sub"].rpartition(":")[2] for arn in listing["Resource"]] == ["catalog", "database/*"]
    # Of an account without it, no session would begin.
    assert making["Action"] == "glue:CreateDatabase"
    assert [arn["Fn::Sub"].rpartition(":")[2] for arn in making["Resource"]] == ["catalog", "database/default"]


def test_instances_write_tables_and_what_a_step_says_and_no_project() -> None:
    """Whoever could write the project would run it as the next step."""
    (policy,) = (one for one in properties("InstanceRole")["Policies"] if one.get("PolicyName") == "data-bucket")
    written: dict[str, set[str]] = {}
    for statement in statements(policy):
        for action in set(listed(statement["Action"])) & {"s3:PutObject", "s3:DeleteObject"}:
            _, own, existing = statement["Resource"]["Fn::If"]
            paths = [arn["Fn::Sub"].removeprefix("${DataBucket.Arn}/") for arn in listed(own)]
            prefix = "arn:${AWS::Partition}:s3:::${ExistingDataBucket}/"
            assert paths == [arn["Fn::Sub"].removeprefix(prefix) for arn in listed(existing)]
            written.setdefault(action, set()).update(paths)
    tables = {"warehouse/*", "warehouse_$folder$", "project/server/*"}
    assert written == {"s3:PutObject": tables | {"emr-logs/*"}, "s3:DeleteObject": tables}
    assert (steps.SERVERS, steps.LOGS) == ("project/server/", "emr-logs/alluvium/")


def test_nodes_are_reached_by_session_manager_and_no_more() -> None:
    (policy,) = (one for one in properties("InstanceRole")["Policies"] if one.get("PolicyName") == "port-forwarding")
    (statement,) = statements(policy)
    assert set(statement["Action"]) == {
        "ssm:UpdateInstanceInformation",
        *(f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")),
    }


def test_key_of_a_bucket_is_used_through_s3_alone() -> None:
    (statement,) = statements(properties("BucketKeyPolicy"))
    assert set(statement["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey"}
    assert statement["Resource"] == {"Ref": "BucketKeyArn"}
    assert statement["Condition"] == {"StringLike": {"kms:ViaService": "s3.*"}}
    assert RESOURCES["BucketKeyPolicy"]["Condition"] == "HasBucketKey"


def test_roles_are_taken_by_the_services_alone() -> None:
    (trusted,) = properties("ServiceRole")["AssumeRolePolicyDocument"]["Statement"]
    assert trusted["Principal"] == {"Service": "elasticmapreduce.amazonaws.com"}
    assert trusted["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    (passed,) = statements(properties("ServiceRole")["Policies"])
    assert passed["Resource"] == {"Fn::GetAtt": ["InstanceRole", "Arn"]}


def test_volumes_are_encrypted_and_metadata_needs_a_token() -> None:
    configuration = properties("SecurityConfiguration")["SecurityConfiguration"]
    at_rest = configuration["EncryptionConfiguration"]["AtRestEncryptionConfiguration"]
    assert configuration["EncryptionConfiguration"]["EnableAtRestEncryption"] is True
    assert at_rest["LocalDiskEncryptionConfiguration"]["EnableEbsEncryption"] is True
    assert configuration["InstanceMetadataServiceConfiguration"] == {
        "MinimumInstanceMetadataServiceVersion": 2,
        "HttpPutResponseHopLimit": 1,
    }
    assert properties("Cluster")["SecurityConfiguration"] == {"Ref": "SecurityConfiguration"}
    assert properties("VolumeKey")["EnableKeyRotation"] is True


def test_cluster_ends_itself_and_grows_on_spot_nodes() -> None:
    cluster = properties("Cluster")
    assert cluster["AutoTerminationPolicy"] == {"IdleTimeout": {"Ref": "IdleTimeoutSeconds"}}
    limits = cluster["ManagedScalingPolicy"]["ComputeLimits"]
    assert limits["MaximumOnDemandCapacityUnits"] == limits["MaximumCoreCapacityUnits"] == {"Ref": "CoreInstanceCount"}
    instances = cluster["Instances"]
    assert instances["MasterInstanceGroup"]["Market"] == instances["CoreInstanceGroup"]["Market"] == "ON_DEMAND"
    condition, groups, _ = instances["TaskInstanceGroups"]["Fn::If"]
    assert (condition, [group["Market"] for group in groups]) == ("HasTaskNodes", ["SPOT"])
    assert cluster["VisibleToAllUsers"] is True


def resolved(value: Any, conditions: dict[str, bool]) -> Any:
    """A value of the template as CloudFormation would have it: defaults, names in place of what is made."""
    if isinstance(value, list):
        return [part for part in (resolved(one, conditions) for one in value) if part is not None]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": "AWS::NoValue"}:
            return None
        case {"Ref": name}:
            return DOCUMENT["Parameters"].get(name, {}).get("Default", f"of-{name}")
        case {"Fn::If": [name, yes, no]}:
            return resolved(yes if conditions[name] else no, conditions)
        case {"Fn::Sub": text}:
            return text
        case {"Fn::GetAtt": [name, _]}:
            return f"of-{name}"
    found = {key: resolved(part, conditions) for key, part in value.items()}
    return {key: part for key, part in found.items() if part is not None}


@pytest.mark.parametrize("has_task_nodes", [True, False])
def test_cluster_is_a_request_that_emr_takes(has_task_nodes: bool) -> None:
    """What CloudFormation sends for it (RunJobFlow), held against botocore's model of that."""
    conditions = {"MakesDataBucket": True, "HasTaskNodes": has_task_nodes}
    asked = resolved(properties("Cluster"), conditions)
    instances = asked["Instances"]
    groups = [
        {"InstanceRole": "MASTER", **instances.pop("MasterInstanceGroup")},
        {"InstanceRole": "CORE", **instances.pop("CoreInstanceGroup")},
        *({"InstanceRole": "TASK", **group} for group in instances.pop("TaskInstanceGroups", [])),
    ]
    assert len(groups) == (3 if has_task_nodes else 2)
    asked["Instances"] = {**instances, "InstanceGroups": groups}
    asked["Configurations"] = [
        {"Classification": one["Classification"], "Properties": one["ConfigurationProperties"]}
        for one in asked["Configurations"]
    ]
    model = botocore.session.get_session().get_service_model("emr")
    shape = model.operation_model("RunJobFlow").input_shape
    report = ParamValidator().validate(asked, shape)
    assert not report.has_errors(), report.generate_report()
    assert ParamValidator().validate({**asked, "LogURI": "x"}, shape).has_errors()


def test_actions_on_glue_are_those_that_it_has() -> None:
    known = botocore.session.get_session().get_service_model("glue").operation_names
    actions = {
        action.removeprefix("glue:")
        for found in statements(properties("InstanceRole"))
        for action in listed(found["Action"])
        if action.startswith("glue:")
    }
    assert actions
    assert actions <= set(known)


def test_objects_have_the_key_of_the_bucket() -> None:
    at_rest = properties("SecurityConfiguration")["SecurityConfiguration"]["EncryptionConfiguration"]
    of_s3 = at_rest["AtRestEncryptionConfiguration"]["S3EncryptionConfiguration"]
    for writes_with_key, expected in ((True, "SSE-KMS"), (False, "SSE-S3")):
        assert resolved(of_s3, {"WritesWithBucketKey": writes_with_key})["EncryptionMode"] == expected
    assert of_s3["Fn::If"][1]["AwsKmsKey"] == {"Ref": "BucketKeyArn"}
    assert DOCUMENT["Conditions"]["WritesWithBucketKey"] == {
        "Fn::And": [{"Condition": "HasBucketKey"}, {"Fn::Not": [{"Condition": "MakesDataBucket"}]}]
    }


def test_cluster_has_delta_of_emr_and_the_catalog_of_glue() -> None:
    by_name = {
        entry["Classification"]: entry["ConfigurationProperties"] for entry in properties("Cluster")["Configurations"]
    }
    # Settings of Spark stand in profiles.yml alone.
    assert by_name == {
        # On a spot node, the application master would end its Spark with it.
        "yarn-site": {
            "yarn.node-labels.enabled": "true",
            "yarn.node-labels.am.default-node-label-expression": "CORE",
        },
        "delta-defaults": {"delta.enabled": "true"},
        "spark-hive-site": {
            "hive.metastore.client.factory.class": (
                "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"
            )
        },
    }
    assert DOCUMENT["Parameters"]["ReleaseLabel"]["Default"].startswith("emr-7.")


def test_one_step_runs_at_a_time() -> None:
    """Two Sparks that write one table of Delta's on S3 at once lose commits."""
    assert properties("Cluster")["StepConcurrencyLevel"] == 1


def test_every_node_has_the_python_of_the_environment() -> None:
    (action,) = properties("Cluster")["BootstrapActions"]
    said = action["ScriptBootstrapAction"]
    assert (said["Path"], said["Args"][0]) == ("file:///bin/bash", "-c")
    script = (TEMPLATE.parent / "step.sh").read_text(encoding="utf-8")
    assert said["Args"][1] in script
    assert "python3.11 -m venv" in script


def test_what_emr_starts_has_the_tag_that_its_policy_asks_for() -> None:
    tagged = {name for name, declared in RESOURCES.items() if EMR_TAG in declared["Properties"].get("Tags", [])}
    assert tagged == {"Cluster", "ClusterSecurityGroup", "ServiceAccessSecurityGroup"}
