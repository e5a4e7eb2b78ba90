"""What every answer tells the browser to refuse."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
"""Nothing from elsewhere, no script or style within a page, no frames around it."""
_POLICY = "content-security-policy"
_ALWAYS = {
    _POLICY: POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Nobody else is told where a link was followed. `no-referrer` would hide it from ourselves too: browsers then send forms with
    # `Origin: null`, as a stranger's page does.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}
_TLS = "max-age=31536000"


def protect(headers: MutableHeaders, *, is_pinned: bool) -> None:
    """Adds them to an answer, whatever it says itself; pages are never kept by browser or proxy unless they say so. `is_pinned`:
    the browser is to come by TLS from now on."""
    own = headers.get(_POLICY)
    for name, value in _headers(is_pinned=is_pinned).items():
        headers[name] = value
    if own:
        # Browsers keep to both: an answer can forbid more than the others, and never allow more.
        headers[_POLICY] = f"{own}, {POLICY}"
    headers.setdefault("cache-control", "no-store")


def _headers(*, is_pinned: bool) -> Mapping[str, str]:
    return {**_ALWAYS, "strict-transport-security": _TLS} if is_pinned else _ALWAYS
