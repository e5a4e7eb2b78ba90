"""The plan of a command: a small flow on the services it asks, made of what each network has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from bowerbird.cli.everyday.asking import ASKINGS, Asking
from bowerbird.cli.everyday.inputs import Inputs
from bowerbird.cli.everyday.where import Where
from bowerbird.cli.everyday.wishes import Wish
from bowerbird.crawl.access.how_to_add import add_line, free_name
from bowerbird.crawl.access.needed import listening
from bowerbird.errors import UserError
from bowerbird.flows.consent import consent_told
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import STREAM, Edge, FacetUse, Flow, Stop
from bowerbird.model import TRAITS, Facet, Service, Traits
from bowerbird.model.money import DEFAULT_DOLLARS, in_dollars
from bowerbird.model.networks import USER_MARKS, Hearing
from bowerbird.ports import Vault
from bowerbird.providers import PROVIDERS, provider
from bowerbird.store.results.wanted import Wanted, What

_STREAM = "stream"


class Job(Struct, frozen=True, kw_only=True):
    """A command ready to run: the crawl it is, and what of it becomes rows."""

    asking: Asking
    plan: CrawlPlan
    wanted: Wanted
    inputs: Inputs
    network: str
    spelled: Mapping[str, str] = {}
    """By seed, the input that it was made of, where it says more."""


def make_job(wish: Wish, inputs: Inputs, services: Sequence[Where], vault: Vault) -> Job:
    """The job of a command; raises `UserError` for what a network cannot do, and what would cost money that nobody allowed."""
    asking = ASKINGS[wish.command]
    traits = TRAITS[services[0].provider]
    facets = provider(traits.provider).facets
    planned = tuple(_service(each, wish) for each in _reachable(asking, traits, services, vault))
    if wish.command == _STREAM:
        flow, wanted, streams = _listening(wish, traits, inputs, planned[0].service)
    else:
        asking = _narrowed(asking, inputs)
        flow, wanted, streams = _flow(asking, wish, traits, facets), _wanted(asking, wish, facets), ()
    _check_money(wish, traits, flow, facets, streams)
    seeds, spelled = inputs.seeds if flow.seeds else SeedList(), {}
    if traits.shortcuts.language_form and wish.languages and wish.command == "search":
        wanted = structs.replace(wanted, languages=())
        spelled = _in_languages(seeds, traits, wish.languages)
        seeds = SeedList(tuple(spelled))
    plan = CrawlPlan(
        name=wish.command,
        store="",
        flow=flow,
        services=planned,
        seeds=seeds,
        streams=streams,
        skips_bad=wish.skips_bad,
        consent=consent_told(wish.override, wish.reason, wish.opt_out),
    )
    wanted = structs.replace(wanted, keeps_raw=wish.raw or wish.store is not None)
    return Job(asking=asking, plan=plan, wanted=wanted, inputs=inputs, network=traits.network.name, spelled=spelled)


def _narrowed(asking: Asking, inputs: Inputs) -> Asking:
    """Only the facets that the inputs go to: who asks for hashtags alone needs nothing that only searching needs."""
    if "hashtag" not in asking.answers:
        return asking
    kinds = {"hashtag" if text.startswith("#") and len(text.split()) == 1 else "search" for text in inputs.seeds}
    return structs.replace(asking, answers=tuple(name for name in asking.answers if name in kinds))


def _service(where: Where, wish: Wish) -> ServicePlan:
    service = Service(name=where.host, provider=where.provider, base=where.base)
    return ServicePlan(service=service, dollars=max(DEFAULT_DOLLARS, wish.budget or 0.0))


def _reachable(asking: Asking, traits: Traits, services: Sequence[Where], vault: Vault) -> Sequence[Where]:
    """Where the questions are answered: some networks answer some of them only where one logs in."""
    asked = set(asking.answers) & provider(traits.provider).facets.keys()
    if not asked or not asked <= traits.not_for_guests or not traits.login or services[0].base != traits.base:
        return services
    known = vault.credentials()
    homes = [home for each in known if each.provider == traits.provider for home in each.home]
    if not homes:
        line = add_line(traits.provider, "user", traits.login, free_name({each.name for each in known}))
        raise UserError(
            f"{traits.provider} answers this only to those who log in", f"add a login with: {line}", code="needs_credential"
        )
    return [Where(traits.provider, homes[0])]


def _flow(asking: Asking, wish: Wish, traits: Traits, facets: Mapping[str, Facet]) -> Flow:
    answers = _answers(asking, wish, traits, facets)
    leads = [name for name in asking.leads if name in facets and (name != "thread" or traits.shortcuts.shows_itself)]
    edges = [Edge(name, answers[-1], take=asking.leads[name]) for name in leads]
    if wish.command == "thread" and len(answers) > 1:
        edges += [Edge(answers[0], answers[-1], take="roots" if traits.shortcuts.has_roots else "own_posts")]
    if asking.what is What.USERS and {"profiles", "profile"} <= set(answers):
        edges += [Edge("profiles", "profile", take="missing")]
    seeds = (answers[0],) if wish.command == "thread" else (*answers, *leads)
    uses = tuple(FacetUse(name, hints=_hints(name, wish, traits, facets[name])) for name in (*answers, *leads))
    stop = Stop(dollars=wish.budget, duration=wish.span)
    return Flow(name=wish.command, facets=uses, edges=tuple(edges), seeds=seeds, stop=stop)


def _answers(asking: Asking, wish: Wish, traits: Traits, facets: Mapping[str, Facet]) -> list[str]:
    """The facets that hold the rows there; raises `UserError` where the network has none of them."""
    found = [name for name in asking.answers if name in facets]
    if wish.command == "thread":
        found = [name for name in found if name == "thread" or not traits.shortcuts.shows_itself] if "thread" in found else []
    if wish.command == "hydrate" and not traits.shortcuts.shows_itself:
        found = [name for name in found if name != "thread"]
    if not found or (wish.command == "trends" and not traits.shortcuts.trends):
        able = sorted(name for name in PROVIDERS if asking.answers[-1] in provider(name).facets)
        raise UserError(
            f"{traits.provider} cannot be asked for {wish.command}", f"these can: {', '.join(able)}", code="unsupported"
        )
    return found


def _hints(name: str, wish: Wish, traits: Traits, facet: Facet) -> dict[str, str]:
    short, hints = traits.shortcuts, {}
    if name == "thread" and wish.command != "thread" and short.shows_itself:
        return {"depth": "0", "parentHeight": "0"}
    if name in short.since and wish.since is not None:
        hints[short.since[name]] = _stamp(wish.since)
    if name in short.until and wish.until is not None:
        hints[short.until[name]] = _stamp(wish.until)
    if name in short.language and len(wish.languages) == 1:
        hints[short.language[name]] = wish.languages[0]
    if name == "volumes":
        hints["granularity"] = wish.granularity
    if wish.limit is not None and facet.objects_per_call == 1 and facet.results_per_call > 1:
        hints["limit"] = str(_page_size(wish.limit, facet))
    return hints


def _page_size(limit: int, facet: Facet) -> int:
    """So large that the last page does not bring much more than is wanted, for some networks charge for it."""
    pages = -(-limit // facet.results_per_call)
    return max(facet.smallest_page, -(-limit // pages))


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _wanted(asking: Asking, wish: Wish, facets: Mapping[str, Facet]) -> Wanted:
    asked = {name: asking.what for name in asking.answers if name in facets}
    leading = {*asking.leads, *(("posts",) if wish.command == "thread" else ())}
    return Wanted(
        facets=asked,
        leading=frozenset(leading & facets.keys()),
        limit=None if asking.is_batched else wish.limit,
        since=wish.since,
        until=wish.until,
        languages=wish.languages,
    )


def _in_languages(seeds: SeedList, traits: Traits, languages: Sequence[str]) -> dict[str, str]:
    """Queries that say themselves which language is wanted, one for each language, with what was written."""
    form = traits.shortcuts.language_form
    return {form.format(text, each): text for text in seeds for each in languages}


def _listening(wish: Wish, traits: Traits, inputs: Inputs, service: Service) -> tuple[Flow, Wanted, tuple[StreamPlan, ...]]:
    """The flow of a stream: what is heard, with the profiles of authors whom the stream only names."""
    texts = tuple(inputs.seeds)
    accounts = [text.removeprefix("@") for text in texts if text.startswith(("@", *USER_MARKS))]
    words = [text for text in texts if not text.startswith(("@", *USER_MARKS))]
    hearing = _hearing(traits, words, accounts)
    options = {name: tuple(values) for name, values in hearing.options.items()}
    if hearing.words and words:
        options[hearing.words] = tuple(words)
    if accounts:
        told = tuple(hearing.account_form.format(each) for each in accounts)
        options[hearing.accounts] = (*options.get(hearing.accounts, ()), *told)
    speaks = listening(provider(traits.provider))
    base = hearing.base if hearing.base and service.base == traits.base else service.base
    subscription = structs.replace(speaks.subscription(hearing.channel, options), name=_STREAM)
    planned = StreamPlan(subscription=subscription, service=service, host=structs.replace(service, base=base))
    flow = Flow(
        name=_STREAM,
        facets=(FacetUse("profiles"),),
        edges=(Edge(STREAM, "profiles", take="authors", when="handle is unknown"),),
        stop=Stop(dollars=wish.budget, duration=wish.span),
    )
    sorted_here = () if hearing.words else tuple(words)
    wanted = Wanted(heard=True, limit=wish.limit, languages=wish.languages, words=sorted_here)
    return flow, wanted, (planned,)


def _hearing(traits: Traits, words: Sequence[str], accounts: Sequence[str]) -> Hearing:
    for each in traits.shortcuts.hearings:
        takes_words = not each.only_tags or (bool(words) and all(word.startswith("#") for word in words))
        needs = bool(words) or not each.words or bool(accounts)
        if takes_words and needs and (not accounts or each.accounts):
            return each
    if not traits.shortcuts.hearings:
        raise UserError(
            f"{traits.provider} has no stream that can be heard",
            "`bowerbird search` asks for what is there already",
            code="unsupported",
        )
    if accounts:
        raise UserError(
            f"{traits.provider} has no stream of single accounts", "`bowerbird timeline` asks for their posts", code="unsupported"
        )
    raise UserError(
        f"{traits.provider} streams by words",
        f"name some, such as `bowerbird stream flood --on {traits.provider}`",
        code="unsupported",
    )


def _check_money(wish: Wish, traits: Traits, flow: Flow, facets: Mapping[str, Facet], streams: Sequence[StreamPlan]) -> None:
    paid = [limit for use in flow.facets if not streams for limit in facets[use.name].limits if limit.is_money]
    speaks = provider(traits.provider)
    if streams:
        paid = [limit for each in streams for limit in speaks.channels[each.subscription.channel].facet.limits if limit.is_money]
    if not paid and wish.budget is not None:
        raise UserError(f"{traits.provider} costs nothing", "leave --budget out", code="conflicting_options")
    if paid and wish.budget is None:
        price = max(max(limit.per_result, limit.per_call) for limit in paid)
        what = "a call" if max(limit.per_call for limit in paid) == price else "each item"
        advice = " `bowerbird counts` says first how many posts there are." if wish.command == "search" else ""
        raise UserError(
            f"{traits.provider} charges for this, up to {in_dollars(price)} for {what}",
            f"say what may be spent in dollars, such as --budget 1.00; it never spends more.{advice}",
            code="needs_agreement",
        )
