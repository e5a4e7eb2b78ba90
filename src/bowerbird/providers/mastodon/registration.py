"""How an application gets a token from a Mastodon server: register, let a user agree, exchange the code. Pure."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from msgspec import Struct

from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Request
from bowerbird.providers.common.reading.items import UNREADABLE, Reader, shortened

PROVIDER = "mastodon"
NAME = "bowerbird"
SCOPES = "read"
_SHOWN_CODE = "urn:ietf:wg:oauth:2.0:oob"
"""The redirect that makes the server show the code to the user instead of sending it somewhere."""
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class Application(Struct, frozen=True):
    """What a server gave us to show that we are the application it registered; it never prints itself."""

    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        return "Application(…)"

    __str__ = __repr__


class _Token(Struct):
    access_token: str


class _Account(Struct):
    acct: str


class _Refusal(Struct):
    error: str = ""
    error_description: str = ""


_applications = Reader(Application)
_tokens = Reader(_Token)
_accounts = Reader(_Account)
_refusals = Reader(_Refusal)


def register(website: str) -> Request:
    """Registers the application; a server allows a handful of these per address and ten minutes."""
    form = {"client_name": NAME, "redirect_uris": _SHOWN_CODE, "scopes": SCOPES}
    return _post("/api/v1/apps", {**form, "website": website} if website.startswith(("https://", "http://")) else form)


def registered(answer: Answer) -> Application:
    _accept(answer, "register an application")
    try:
        found = _applications.read(answer.body)
    except UNREADABLE:
        found = Application("", "")
    if not _is_word(found.client_id) or not _is_word(found.client_secret):
        raise CredentialError(
            "the server registered an application but told neither its id nor its secret: is it a Mastodon server?"
        )
    return found


def authorisation_address(base: str, application: Application) -> str:
    """Where a person logs in, agrees that the application reads, and is shown a code."""
    query = {"response_type": "code", "client_id": application.client_id, "redirect_uri": _SHOWN_CODE, "scope": SCOPES}
    return f"{base}/oauth/authorize?{urlencode(query, quote_via=quote)}"


def exchange(application: Application, code: str | None) -> Request:
    """Turns the code into a user's token; without a code asks for the application's own."""
    wanted = {"grant_type": "client_credentials"} if code is None else {"grant_type": "authorization_code", "code": code}
    known = {"client_id": application.client_id, "client_secret": application.client_secret, "redirect_uri": _SHOWN_CODE}
    return _post("/oauth/token", {**wanted, **known, "scope": SCOPES})


def token(answer: Answer, *secrets: str) -> str:
    """The access token; `secrets` are what the refusal must not repeat."""
    _accept(answer, "give out a token", *secrets)
    try:
        given = _tokens.read(answer.body).access_token
    except UNREADABLE:
        given = ""
    if not _is_word(given):
        raise CredentialError(
            "the server's answer holds no access token: try again, or make a token in its settings, Development"
        )
    return given


def whose(access_token: str) -> Request:
    """Asks whose token it is, because tokens of one account share limits."""
    return Request(path="/api/v1/accounts/verify_credentials", headers={"authorization": f"Bearer {access_token}"})


def account(answer: Answer) -> str | None:
    """The account's name on its server; None where the server does not tell."""
    try:
        name = _accounts.read(answer.body).acct if answer.status == 200 else ""
    except UNREADABLE:
        return None
    return name if _is_word(name) else None


def _post(path: str, form: dict[str, str]) -> Request:
    return Request(path=path, method="POST", headers=_FORM, body=urlencode(form).encode())


def _is_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text and 0 < len(text) <= 1000


def _accept(answer: Answer, doing: str, *secrets: str) -> None:
    """Raises with advice unless the server agreed."""
    if answer.status == 200:
        return
    if answer.status == 0:
        raise CredentialError(f"the server did not answer when asked to {doing} ({shortened(answer.failure)}): check the address")
    raise CredentialError(f"the server would not {doing}: {_words(answer, secrets)}; {_advice(answer)}")


def _words(answer: Answer, secrets: tuple[str, ...]) -> str:
    try:
        said = _refusals.read(answer.body)
    except UNREADABLE:
        return f"status {answer.status}"
    text = shortened(said.error_description or said.error)
    for secret in secrets:
        text = text.replace(secret, "…")
    return f"status {answer.status}, {text!r}" if text else f"status {answer.status}"


def _advice(answer: Answer) -> str:
    match answer.status:
        case 400 | 401:
            return "codes work once and for some minutes: run the command again and copy the new one whole"
        case 404 | 405:
            return "is this the address of a Mastodon server?"
        case 429:
            return "too many registrations from this address: wait ten minutes"
        case code if code >= 500:
            return "the server has trouble: try again later"
    return "make a token in its settings, under Development, and add it without --register"
