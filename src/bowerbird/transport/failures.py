"""Why no answer came, in words that say what happened and, where it helps, what to look at: none of them a library's."""

from __future__ import annotations

import os
import socket

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from bowerbird.transport.bounds import Bounds, SpoiltError

_MOST = 300


def said(error: BaseException, bounds: Bounds | None = None) -> str:
    """The failure in words."""
    return _said(error, bounds or Bounds())[:_MOST].encode(errors="replace").decode()


def _said(error: BaseException, bounds: Bounds) -> str:
    match error:
        case SpoiltError():
            return str(error)
        case aiohttp.ClientConnectorCertificateError():
            return f"the certificate of {error.host} was not accepted: {_certificate(error.certificate_error)}"
        case aiohttp.ClientConnectorSSLError():
            return f"no secure connection to {_place(error)}: {_library_free(error.os_error)}"
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {bounds.connect.total_seconds():g} s"
        case aiohttp.SocketTimeoutError():
            return f"silent for {bounds.read.total_seconds():g} s"
        case TimeoutError():
            return f"not finished within {bounds.total.total_seconds():g} s"
        case aiohttp.ClientConnectorError():
            return f"cannot reach {_place(error)}: {_system(error.os_error)}"
    return _broken(error)


def _broken(error: BaseException) -> str:
    """An answer that began, or should have, and did not come to its end."""
    match error:
        case aiohttp.ServerDisconnectedError():
            return "the server hung up without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off before its end"
        case aiohttp.InvalidURL():
            return f"{error} is no address"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return f"what came is no HTTP answer: {error.message}"
        case OSError():
            return f"the connection broke: {_system(error)}"
    return f"{type(error).__name__}: {error}"


def _place(error: aiohttp.ClientConnectorError) -> str:
    return f"{error.host}:{error.port}"


def _system(error: OSError) -> str:
    """What the operating system says: asyncio puts words of its own in its place."""
    if isinstance(error, socket.gaierror):
        return "no such host name is known"
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)


def _certificate(error: Exception) -> str:
    return str(getattr(error, "verify_message", "")) or str(error)


def _library_free(error: OSError) -> str:
    """`wrong version number` of `[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)`."""
    return str(error.strerror or error).rpartition("] ")[2].partition(" (_ssl")[0]
