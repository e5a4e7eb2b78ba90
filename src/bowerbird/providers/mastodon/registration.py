"""Get a token from a Mastodon server: register an application, let the user authorize it, exchange
the code."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from msgspec import Struct

from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Request
from bowerbird.providers.items import UNREADABLE, Reader, shortened

PROVIDER = "mastodon"
NAME = "bowerbird"
SCOPES = "read"
_SHOW_CODE = "urn:ietf:wg:oauth:2.0:oob"
"""The redirect URI that makes the server show the code to the user."""


class Application(Struct, frozen=True):
    """The credentials of a registered application; never printed."""

    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        return "Application(…)"

    __str__ = __repr__


class _Response(Struct):
    """The fields of all responses: token, account and error."""

    access_token: str = ""
    acct: str = ""
    error: str = ""
    error_description: str = ""


_applications, _responses = Reader(Application), Reader(_Response)


def register(website: str) -> Request:
    """Register the application; a server allows about five of these per address and ten minutes."""
    form = {"client_name": NAME, "redirect_uris": _SHOW_CODE, "scopes": SCOPES}
    return _post(
        "/api/v1/apps",
        {**form, "website": website} if website.startswith(("https://", "http://")) else form,
    )


def registered(answer: Answer) -> Application:
    _check(answer, "register an application")
    try:
        application = _applications.read(answer.body)
    except UNREADABLE:
        application = Application("", "")
    if not _is_word(application.client_id) or not _is_word(application.client_secret):
        raise CredentialError(
            "The server registered an application but sent no id or secret.",
            "Is it a Mastodon server?",
            code="wrong_server",
        )
    return application


def authorisation_address(base: str, application: Application) -> str:
    """Return the page where the user logs in, authorizes the application and is shown a code."""
    query = {
        "response_type": "code",
        "client_id": application.client_id,
        "redirect_uri": _SHOW_CODE,
        "scope": SCOPES,
    }
    return f"{base}/oauth/authorize?{urlencode(query, quote_via=quote)}"


def exchange(application: Application, code: str | None) -> Request:
    """Exchange the code for a user's token; without a code request the application's own."""
    grant = (
        {"grant_type": "client_credentials"}
        if code is None
        else {"grant_type": "authorization_code", "code": code}
    )
    client = {
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        "redirect_uri": _SHOW_CODE,
    }
    return _post("/oauth/token", {**grant, **client, "scope": SCOPES})


def token(answer: Answer, *secrets: str) -> str:
    """Return the access token; `secrets` are removed from the error message."""
    _check(answer, "give out a token", *secrets)
    given = _read(answer).access_token
    if not _is_word(given):
        raise CredentialError(
            "The response has no access token.",
            "Try again, or create a token in the server's settings under Development.",
            code="wrong_server",
        )
    return given


def whose(access_token: str) -> Request:
    """Request the account of a token: tokens of one account share its limits."""
    return Request(
        path="/api/v1/accounts/verify_credentials",
        headers={"authorization": f"Bearer {access_token}"},
    )


def account(answer: Answer) -> str | None:
    """Return the account's name on its server, if the response has it."""
    name = _read(answer).acct if answer.status == 200 else ""
    return name if _is_word(name) else None


def _post(path: str, form: dict[str, str]) -> Request:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return Request(path=path, method="POST", headers=headers, body=urlencode(form).encode())


def _read(answer: Answer) -> _Response:
    try:
        return _responses.read(answer.body)
    except UNREADABLE:
        return _Response()


def _is_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text and 0 < len(text) <= 1000


_NEW_CODE = "A code works once and for a few minutes. Run the command again and copy the new code completely."
_ADVICE = {
    400: _NEW_CODE,
    401: _NEW_CODE,
    404: "Is this the address of a Mastodon server?",
    405: "Is this the address of a Mastodon server?",
    429: "Too many registrations from this address. Wait ten minutes.",
}


def _check(answer: Answer, action: str, *secrets: str) -> None:
    """Raise `CredentialError` with advice unless the response is a success."""
    if answer.status == 200:
        return
    if answer.status == 0:
        raise CredentialError(
            f"The server did not respond ({shortened(answer.failure)}).",
            "Check the address.",
            code="server_unreachable",
        )
    response = _read(answer)
    message = shortened(response.error_description or response.error)
    for secret in secrets:
        message = message.replace(secret, "…")
    said = f"status {answer.status}, {message!r}" if message else f"status {answer.status}"
    default = (
        "Create a token in the server's settings under Development and add it without --register."
    )
    advice = (
        "The server has a problem. Try again later."
        if answer.status >= 500
        else _ADVICE.get(answer.status, default)
    )
    refused = answer.status in (400, 401)
    raise CredentialError(
        f"The server would not {action}: {said}.",
        advice,
        code="credential_refused" if refused else "refused",
    )
