"""The dbt profile that a project runs with, read as dbt reads it."""

from __future__ import annotations

import contextvars
import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from alluvium import AlluviumError


class ProfileError(AlluviumError):
    """There is no project, profile or target of that name, or none that can be used."""


@dataclass(frozen=True)
class SessionTarget:
    """A target whose method is `session`.

    Attributes:
        project_directory: where dbt_project.yml lies; relative paths in `parameters` start from it.
        name: of the target.
        schema: the target's schema.
        parameters: Spark settings, the profile's ``server_side_parameters``.
    """

    project_directory: Path
    name: str
    schema: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class ThriftTarget:
    """A target whose method is `thrift`.

    Attributes:
        project_directory: where dbt_project.yml lies.
        name: of the target.
        schema: the target's schema.
        host: where the server listens.
        port: of TCP.
        user: who connects; when None, the user of this process.
        password: where `auth` asks for one.
        auth: as PyHive names it.
        kerberos_service_name: where `auth` is KERBEROS.
        use_ssl: whether the server has TLS.
    """

    project_directory: Path
    name: str
    schema: str
    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    auth: str | None = None
    kerberos_service_name: str | None = None
    use_ssl: bool = False


Target: TypeAlias = SessionTarget | ThriftTarget


def read_profile(flags: Any) -> Any:
    """dbt's profile object for dbt's flags: project directory, variables, names of profile and target."""
    from dbt.config.runtime import load_profile

    return load_profile(str(flags.PROJECT_DIR), flags.VARS, flags.PROFILE, flags.TARGET, None)


def session_parameters(credentials: Any) -> dict[str, str] | None:
    """The Spark settings in a target's credentials, None when it is not a Spark session."""
    if credentials.type != "spark" or getattr(credentials, "method", None) != "session":
        return None
    return dict(getattr(credentials, "server_side_parameters", {}))


def is_thrift(credentials: Any) -> bool:
    """Whether a target reaches a Spark Thrift server."""
    return credentials.type == "spark" and getattr(credentials, "method", None) == "thrift"


def read_target(
    project_directory: Path | None = None,
    profiles_directory: Path | None = None,
    target: str | None = None,
    profile: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Target:
    """The target that dbt would run with.

    Args:
        project_directory: of dbt_project.yml; when None, the working directory or the nearest one above that has it.
        profiles_directory: of profiles.yml; when None, the first that has it of the working directory, the project's
            and ``~/.dbt``.
        target: its name; when None, that of DBT_TARGET, else the profile's own choice.
        profile: its name; when None, that of DBT_PROFILE, else the project's own choice.
        variables: dbt's, of the command line.

    Raises:
        ProfileError: there is none, or its method is neither `session` nor `thrift`.
    """
    from dbt.cli.resolvers import default_profiles_dir, default_project_dir
    from dbt_common.exceptions import DbtBaseException

    project = (project_directory or default_project_dir()).resolve()
    if not (project / "dbt_project.yml").is_file():
        raise ProfileError(f"There is no dbt_project.yml in {project}: name its directory with --project-dir.")
    profiles = profiles_directory or next(
        (place for place in (Path.cwd(), project) if (place / "profiles.yml").is_file()), default_profiles_dir()
    )
    if not (profiles / "profiles.yml").is_file():
        raise ProfileError(f"There is no profiles.yml in {profiles}: name its directory with --profiles-dir.")
    given = {
        "PROJECT_DIR": project,
        "PROFILES_DIR": str(profiles),
        "VARS": dict(variables or {}),
        **({"TARGET": target} if target else {}),
        **({"PROFILE": profile} if profile else {}),
    }
    try:
        found = contextvars.copy_context().run(_profile, given)
    except DbtBaseException as error:
        said = " ".join(str(getattr(error, "msg", error)).split()).rstrip(".")
        raise ProfileError(
            f"{said}: look into {profiles / 'profiles.yml'} and {project / 'dbt_project.yml'}."
        ) from error
    credentials = found.credentials
    parameters = session_parameters(credentials)
    if parameters is not None:
        return SessionTarget(project, found.target_name, credentials.schema, parameters)
    if is_thrift(credentials):
        return ThriftTarget(
            project,
            found.target_name,
            credentials.schema,
            credentials.host,
            int(credentials.port),
            credentials.user,
            credentials.password,
            credentials.auth,
            credentials.kerberos_service_name,
            credentials.use_ssl,
        )
    method = getattr(credentials, "method", None) or credentials.type
    raise ProfileError(
        f"The target {found.target_name} has the method {method}, and only targets with the method session or thrift "
        f"can be queried: choose one of {profiles / 'profiles.yml'} with --target."
    )


def session_target(
    project_directory: Path | None = None, profiles_directory: Path | None = None, target: str | None = None
) -> SessionTarget:
    """As `read_target`, where a session is to be made.

    Raises:
        ProfileError: there is no such target, or its method is not `session`.
    """
    found = read_target(project_directory, profiles_directory, target)
    if not isinstance(found, SessionTarget):
        raise ProfileError(
            f"The target {found.name} reaches a server that has the settings of another target: name one with the "
            "method session with --target."
        )
    return found


def _profile(given: Mapping[str, Any]) -> Any:
    """dbt's profile object, outside of a command of dbt: with what such a command sets, and what `env_var` asks for.

    What is not given comes from dbt's own variables: DBT_TARGET, DBT_PROFILE.
    """
    from dbt import flags
    from dbt_common.context import set_invocation_context

    set_invocation_context(os.environ)
    before = flags.get_flags()  # type: ignore[no-untyped-call]  # dbt has no annotations here
    try:
        flags.set_from_args(Namespace(**given), None)
        return read_profile(flags.get_flags())  # type: ignore[no-untyped-call]  # the same
    finally:
        flags.set_flags(before)  # type: ignore[no-untyped-call]  # dbt keeps one per process
