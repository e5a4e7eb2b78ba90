"""The OpenAPI description of a coordinator, made from the very types that pass over the wire."""

from __future__ import annotations

from typing import Any

import msgspec

from bowerbird import __version__
from bowerbird.remote.problems import PROBLEMS, Problem
from bowerbird.remote.services import SERVICES, Service
from bowerbird.remote.wire import JSON, MESSAGEPACK, PREFIX, TIME_HEADER, VERSION_HEADER, WIRE

_REFERENCE = "#/components/schemas/{name}"
_STATUSES = {
    401: "The token is nobody's, or was revoked.",
    426: "Worker and coordinator do not understand each other; the words say which of them to upgrade.",
    **{status: f"`{kind}`: {raised.__doc__}" for kind, (status, raised) in PROBLEMS.items()},
}


def openapi() -> dict[str, Any]:
    """OpenAPI 3.1."""
    kinds = [kind for each in SERVICES.values() for kind in (each.asks, each.answers) if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REFERENCE)
    schema_of = dict(zip(map(repr, [*kinds, Problem]), schemas, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bowerbird coordinator",
            "version": f"{WIRE}",
            "description": f"What workers without a database get and put. Written by bowerbird {__version__}.",
        },
        "paths": {f"{PREFIX}/{name}": {"post": _operation(name, each, schema_of)} for name, each in SERVICES.items()},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(name: str, service: Service, schemas: dict[str, Any]) -> dict[str, Any]:
    refusals = {str(status): _answer(words, schemas[repr(Problem)]) for status, words in sorted(_STATUSES.items())}
    found: dict[str, Any] = {
        "operationId": name,
        "summary": service.words,
        "parameters": [
            {
                "name": VERSION_HEADER,
                "in": "header",
                "required": True,
                "description": "The version of the wire that the worker speaks.",
                "schema": {"type": "integer", "const": WIRE},
            }
        ],
        "responses": {"200": _answer(service.words, schemas[repr(service.answers)]), **refusals},
    }
    if service.asks is not None:
        found["requestBody"] = {"required": True, "content": _content(schemas[repr(service.asks)])}
    return found


def _answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    headers = {TIME_HEADER: {"description": "The coordinator's time in microseconds.", "schema": {"type": "integer"}}}
    return {"description": words, "headers": headers, "content": _content(schema)}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {JSON: {"schema": schema}, MESSAGEPACK: {"schema": schema}}
