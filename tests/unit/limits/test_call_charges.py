"""From limits to charges."""

from datetime import timedelta

import pytest

from bowerbird.errors import UserError
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import Credential, Facet, Limit, Subject, WindowKind
from failures import raises_code

HOUR = timedelta(hours=1)
KEY = Credential(name="key1", provider="mastodon", account="ada", app="lab")


def facet(*limits: Limit, results: int = 1) -> Facet:
    return Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}), limits=limits, results_per_call=results)


def buckets(template: str, credential: Credential | None) -> list[str]:
    limit = Limit(bucket=template, allowance=5, window=HOUR)
    return [charge.bucket for charge in call_charges(facet(limit), "example", credential)]


@pytest.mark.parametrize(
    ("template", "bucket"),
    [
        ("{service}/{credential}/{facet}", "example/key1/timeline"),
        ("{service}/{account}", "example/ada"),
        ("{service}/{app}", "example/lab"),
    ],
)
def test_a_template_is_filled_with_the_names_of_the_call(template: str, bucket: str) -> None:
    assert buckets(template, KEY) == [bucket]


def test_calls_without_a_credential_share_one_bucket() -> None:
    assert buckets("{service}/{credential}", None) == ["example/anonymous"]


def test_a_credential_that_names_no_account_is_one_of_its_own() -> None:
    assert buckets("{account}/{app}", Credential(name="key2", provider="x")) == ["key2/key2"]


def test_the_most_a_call_may_cost_is_charged() -> None:
    posts = Limit(bucket="posts", allowance=1_000, window=HOUR, kind=WindowKind.MONTH, per_call=0, per_result=1)
    calls = Limit(bucket="calls", allowance=15, window=HOUR)
    assert [charge.amount for charge in call_charges(facet(posts, calls, results=100), "x", KEY)] == [100, 1]


def test_a_call_that_could_never_be_paid_is_an_error_that_says_so() -> None:
    posts = Limit(bucket="posts", allowance=50, window=HOUR, kind=WindowKind.MONTH, per_result=1)
    with raises_code(UserError, "budget_too_small") as caught:
        call_charges(facet(posts, results=100), "x", KEY)
    assert all(value in caught.value.problem for value in ("101", "'posts'", "50"))
