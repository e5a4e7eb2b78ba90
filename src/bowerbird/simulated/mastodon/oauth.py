"""Registration of applications and the tokens they get, as a Mastodon server has them."""

from __future__ import annotations

from html import escape

from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.wire import Reply, reply
from bowerbird.simulated.world.hashing import mix

_SHOWN_CODE = "urn:ietf:wg:oauth:2.0:oob"
_SECRET = "sim-client-secret"  # noqa: S105  everybody may know it: the world is simulated
_GRANT = "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI."


class OAuth:
    """Handlers of `/api/v1/apps` and `/oauth`; whoever opens the page of consent has agreed, as a user of the service's own."""

    def __init__(self, tokens: IssuedTokens) -> None:
        self._tokens = tokens
        self._codes: dict[str, str] = {}
        """The client of each code that was shown and not used yet."""
        self._shown = 0

    def register(self, call: Call) -> Reply:
        name = call.params.get("client_name")
        if not name or not call.params.get("redirect_uris"):
            raise refuse(422, "Validation failed: Application name can't be blank, Redirect URI can't be blank")
        return reply({"id": "1", "name": name, "client_id": f"sim-client-{name}", "client_secret": _SECRET, "vapid_key": ""})

    def authorize(self, call: Call) -> Reply:
        """The page that shows the code; a real server asks for a login and for consent first."""
        client = call.params.get("client_id")
        if not client.startswith("sim-client-") or call.params.get("response_type") != "code":
            return _page("The client identifier provided is invalid.", 401)
        if call.params.get("redirect_uri") != _SHOWN_CODE:
            return _page("The redirect uri included is not valid.", 401)
        self._shown += 1
        code = f"sim-code-{mix(self._shown, 3):016x}"
        self._codes[code] = client
        return _page(f'Copy this code: <input class="oauth-code" readonly value="{code}">')

    def token(self, call: Call) -> Reply:
        """App tokens by `client_credentials`, user tokens by `authorization_code`; a code works once."""
        client = call.params.get("client_id")
        if not client.startswith("sim-client-") or call.params.get("client_secret") != _SECRET:
            return reply({"error": "invalid_client", "error_description": "Client authentication failed."}, 401)
        match call.params.get("grant_type"):
            case "client_credentials":
                return self._given(call, "app", client)
            case "authorization_code":
                is_ours = self._codes.pop(call.params.get("code"), None) == client
                if not is_ours or call.params.get("redirect_uri") != _SHOWN_CODE:
                    return reply({"error": "invalid_grant", "error_description": _GRANT}, 400)
                return self._given(call, "user", client)
        words = "The authorization grant type is not supported."
        return reply({"error": "unsupported_grant_type", "error_description": words}, 400)

    def _given(self, call: Call, kind: str, client: str) -> Reply:
        token = self._tokens.issue(kind, app=client)
        return reply({"access_token": token.value, "token_type": "Bearer", "scope": "read", "created_at": call.now // 1000})


def _page(words: str, status: int = 200) -> Reply:
    shown = words if status == 200 else escape(words)
    return Reply(status, f"<!DOCTYPE html><title>Authorize</title><p>{shown}</p>".encode(), {"content-type": "text/html"})
