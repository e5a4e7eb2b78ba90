"""The problems this API answers with: for a whole call as problem+json, for single resources inside a 200."""

from __future__ import annotations

from typing import Any

from bowerbird.simulated.wire import RefusedError, Reply, encode

_TYPES = "https://api.twitter.com/2/problems/"
PROBLEM_JSON = "application/problem+json"

_PLAIN = {
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def problem(status: int, body: dict[str, Any]) -> Reply:
    return Reply(status, encode(body), {"content-type": PROBLEM_JSON})


def plain(status: int) -> Reply:
    """A problem that is nothing but its status."""
    title = _PLAIN[status]
    detail = "Something is broken. This is usually a temporary error." if status == 500 else title
    return problem(status, {"title": title, "detail": detail, "type": "about:blank", "status": status})


def invalid(parameter: str, value: str, message: str) -> RefusedError:
    """A wrong parameter, named with its value."""
    body = {
        "errors": [{"parameters": {parameter: [value]}, "message": message}],
        "title": "Invalid Request",
        "detail": "One or more parameters to your request was invalid.",
        "type": _TYPES + "invalid-request",
    }
    return RefusedError(problem(400, body))


def wrong_kind(kind: str) -> RefusedError:
    """The endpoint is for the other kind of authentication."""
    has, needs = ("OAuth 2.0 Application-Only", "OAuth 1.0a User Context, OAuth 2.0 User Context")
    if kind == "user":
        has, needs = "User Context", "OAuth 2.0 Application-Only"
    detail = f"Authenticating with {has} is forbidden for this endpoint. Supported authentication types are [{needs}]."
    title = "Unsupported Authentication"
    return RefusedError(
        problem(403, {"title": title, "detail": detail, "type": _TYPES + "unsupported-authentication", "status": 403})
    )


def not_enrolled() -> RefusedError:
    body = {
        "title": "Client Forbidden",
        "reason": "client-not-enrolled",
        "registration_url": "https://developer.simulated.example/",
        "detail": "When authenticating requests to the API v2 endpoints, you must use keys of an App attached to a Project.",
        "required_enrollment": "Appropriate Level of API Access",
        "type": _TYPES + "client-forbidden",
    }
    return RefusedError(problem(403, body))


def capped(account: int) -> Reply:
    body = {
        "account_id": account,
        "product_name": "standard-basic",
        "title": "UsageCapExceeded",
        "period": "Monthly",
        "scope": "Product",
        "detail": "Usage cap exceeded: Monthly product cap",
        "type": _TYPES + "usage-capped",
    }
    return problem(429, body)


def out_of_credits(account: int) -> Reply:
    detail = f"Your enrolled account [{account}] does not have any credits to fulfill this request."
    return problem(402, {"account_id": account, "title": "CreditsDepleted", "detail": detail, "type": _TYPES + "credits"})


def duplicate_rule(value: str, known: str) -> dict[str, Any]:
    return {"value": value, "id": known, "title": "DuplicateRule", "type": _TYPES + "duplicate-rules"}


def invalid_rule(value: str, why: str) -> dict[str, Any]:
    return {"value": value, "details": [why], "title": "UnprocessableEntity", "type": _TYPES + "invalid-rules"}


def too_many_rules(most: int) -> RefusedError:
    detail = f"Rules must be {most:,} or fewer: delete some before you add more."
    return RefusedError(problem(422, {"title": "RulesCapExceeded", "detail": detail, "type": _TYPES + "rule-cap"}))


def no_connection(status: int, issue: str, detail: str) -> RefusedError:
    """A stream that cannot be opened."""
    body = {
        "title": "ConnectionException",
        "detail": detail,
        "connection_issue": issue,
        "type": _TYPES + "streaming-connection",
    }
    return RefusedError(problem(status, body))


def disconnected(kind: str, detail: str) -> dict[str, Any]:
    """What a stream says before the service ends it."""
    ending = {"title": "operational-disconnect", "disconnect_type": kind, "detail": detail}
    return {"errors": [{**ending, "type": _TYPES + "operational-disconnect"}]}


def missing(resource: str, parameter: str, value: str) -> dict[str, Any]:
    """One resource that does not exist."""
    detail = f"Could not find {resource} with {parameter}: [{value}]."
    return _about(resource, parameter, value, "Not Found Error", detail, "resource-not-found")


def suspended(parameter: str, value: str) -> dict[str, Any]:
    """A suspended user: the type is that of a missing one, only title and words differ."""
    return _about("user", parameter, value, "Forbidden", f"User has been suspended: [{value}].", "resource-not-found")


def unauthorized(resource: str, parameter: str, value: str) -> dict[str, Any]:
    """A resource of a protected account, or a suspended author's post."""
    named = "Tweet" if resource == "tweet" else resource
    detail = f"Sorry, you are not authorized to see the {named} with {parameter}: [{value}]."
    return _about(resource, parameter, value, "Authorization Error", detail, "not-authorized-for-resource")


def _about(resource: str, parameter: str, value: str, title: str, detail: str, kind: str) -> dict[str, Any]:
    section = {"section": "data"} if kind == "not-authorized-for-resource" and "." not in parameter else {}
    return {
        "value": value,
        "detail": detail,
        "title": title,
        "resource_type": resource,
        "parameter": parameter,
        "resource_id": value,
        **section,
        "type": _TYPES + kind,
    }
