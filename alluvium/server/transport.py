"""TLS to a Thrift server, with its certificate checked."""

from __future__ import annotations

import getpass
import ssl

from pyhive.hive import get_installed_sasl  # type: ignore[import-untyped]  # it has no annotations
from thrift.transport.TSSLSocket import TSSLSocket  # type: ignore[import-untyped]  # the same
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # the same
from thrift_sasl import TSaslClientTransport  # type: ignore[import-untyped]  # the same


def tls(
    host: str,
    port: int | None,
    username: str | None,
    auth: str | None,
    kerberos_service_name: str | None = None,
    password: str | None = None,
) -> TSaslClientTransport:
    """An unopened transport, in place of dbt-spark's `build_ssl_transport`.

    That one (1.11.0) takes any certificate of anybody, and hands the password over. This one takes those whose
    authority this machine trusts, or one in SSL_CERT_FILE, and that name the host.

    Args:
        host: as the certificate names it.
        port: of TCP; 10000 when None.
        username: who asks; the user of this machine when None, as a server without passwords takes any name but none.
        auth: the server's `hive.server2.authentication`.
        kerberos_service_name: with KERBEROS alone.
        password: with LDAP and CUSTOM.
    """
    context = ssl.create_default_context()
    context.sslsocket_class = _Handshake
    socket = _Socket(host, port or 10000, ssl_context=context, validate_callback=_is_checked)
    mechanism = "GSSAPI" if auth == "KERBEROS" else "PLAIN"

    def client() -> object:
        # PLAIN wants some password where the server asks for none.
        return get_installed_sasl(
            host=host,
            sasl_auth=mechanism,
            service=kerberos_service_name,
            username=username or getpass.getuser(),
            password=password or "x",
        )

    return TSaslClientTransport(client, mechanism, socket)


def _is_checked(*_: object) -> None:
    """The context has compared the names; Thrift's own comparison (0.22) calls what Python 3.12 no longer has."""


# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL.
_OTHER_NAME = (62, 64)
# The codes of OpenSSL for a certificate whose authority is not known, in order: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
# _DEPTH_ZERO_SELF_SIGNED_CERT, _SELF_SIGNED_CERT_IN_CHAIN, _UNABLE_TO_GET_ISSUER_CERT_LOCALLY and
# _UNABLE_TO_VERIFY_LEAF_SIGNATURE.
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)


def _remedy(code: int) -> str:
    if code in _OTHER_NAME:
        return ": connect to a name that it has (ALLUVIUM_THRIFT_HOST), or have it name this one"
    if code in _UNKNOWN_AUTHORITY:
        return ": name the file of its authority in SSL_CERT_FILE"
    return ""


class _Handshake(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except ssl.SSLCertVerificationError as error:
            # Thrift (0.22) would say no more than that it could not connect.
            raise TTransportException(
                TTransportException.NOT_OPEN,
                f"The certificate of {self.server_hostname} is not taken ({error.verify_message.rstrip('.')})"
                f"{_remedy(error.verify_code)}.",
                inner=error,
            ) from error


class _Socket(TSSLSocket):  # type: ignore[misc]  # it has no annotations
    def close(self) -> None:
        if self.handle is not None:  # Thrift's (0.22) fails where nothing was opened, and hides why
            super().close()
