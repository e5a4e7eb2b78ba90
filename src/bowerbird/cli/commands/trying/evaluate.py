"""`bowerbird evaluate`: measures what bowerbird promises; the last line is one JSON object with the figures."""

from __future__ import annotations

from os import cpu_count
from pathlib import Path
from typing import Annotated, Any

import typer

from bowerbird.cli.commands.trying.evaluate_communities import community, nationality
from bowerbird.cli.commands.trying.evaluate_keywords import keywords
from bowerbird.cli.commands.trying.evaluate_people import language, profiles
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.model.networks import FIRST

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command()(keywords)


@app.callback()
def _root() -> None:
    """Measure what bowerbird promises."""


app.command()(language)
app.command()(profiles)
app.command()(nationality)
app.command()(community)


@app.command()
def quota(
    hours: Annotated[float, typer.Option(min=0.5, max=10_000, help="Virtual hours to run.")] = 48.0,
    credentials: Annotated[int, typer.Option(min=1, max=1_000, help="How many credentials to pool.")] = 10,
    seed: Annotated[int, typer.Option(help="Another seed is another course of delays and losses.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How much of what the limits allow is used, and is any call refused? Takes a few minutes."""
    from bowerbird.evaluate.quota import evaluate_quota

    output = Output(as_json=as_json)
    figures = evaluate_quota(hours=hours, seed=seed, credentials=credentials, say=output.progress)
    output.table("", ("figure", "value"), figures.items())
    output.result(figures)


@app.command()
def crash(
    kills: Annotated[int, typer.Option(min=1, max=100_000, help="Kills of crawls on SQLite.")] = 200,
    postgres_kills: Annotated[int, typer.Option(min=0, max=100_000, help="Kills of crawls on PostgreSQL.")] = 50,
    seed: Annotated[int, typer.Option(help="Another seed kills at other moments.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Folder for the rounds in which something was wrong.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Do kills, stops or exceptions lose, double, overdraw or wedge anything? Takes a quarter of an hour. Exit code 1 if so."""
    from bowerbird.evaluate.crash import Manner, evaluate_crash

    output = Output(as_json=as_json)
    figures = evaluate_crash(kills, postgres_kills, Manner(seed=seed, keep=keep, say=output.progress))
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if not isinstance(value, dict)))
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def fleet(
    workers: Annotated[int, typer.Option(min=2, max=200, help="Worker processes; half of them through a coordinator.")] = 16,
    kills: Annotated[int, typer.Option(min=1, max=10_000, help="How many processes are killed.")] = 30,
    seed: Annotated[int, typer.Option(help="Another seed disturbs at other moments.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Folder for what is left of a run in which something was wrong.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Does a fleet lose, double or overdraw anything, whatever befalls it? Takes some minutes. Exit code 1 if so.

    Real processes on PostgreSQL, half of them through a coordinator, with clocks that are wrong; they are killed, stopped and
    paused at random moments, and the database crashes. Their store is compared with that of one process left alone.
    """
    from bowerbird.evaluate.fleet import Manner, evaluate_fleet

    output = Output(as_json=as_json)
    figures = evaluate_fleet(Manner(workers=workers, kills=kills, seed=seed, keep=keep, say=output.progress))
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if not isinstance(value, dict)))
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def forget(
    only: Annotated[list[str] | None, typer.Option("--only", metavar="PROVIDER", help="Only this one; may be repeated.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Is anything left of what had to go? Takes some minutes. Exit code 1 if something is.

    Crawls of every network on both databases, in virtual time. People are forgotten, opt out and are suspended, and posts are
    deleted. Then ids, handles and words are searched for in tables, payloads, quarantine, the bytes of the files and their logs,
    the folder of pictures, exports from before and after, and a backup from before, restored.
    """
    from bowerbird.evaluate.forget import DIALECTS, evaluate_forget

    output = Output(as_json=as_json)
    if unknown := set(only or ()) - set(DIALECTS):
        raise typer.BadParameter(f"--only {', '.join(sorted(unknown))} is not evaluated; write one of {', '.join(DIALECTS)}")
    figures = evaluate_forget(tuple(only or DIALECTS), say=output.progress)
    columns = ("secrets", "found_before", "found")
    rows = [(name, *(each[column] for column in columns)) for name, each in figures["by_crawl"].items()]
    output.table("", ("crawl", *(column.replace("_", " ") for column in columns)), rows)
    output.result(figures)
    raise typer.Exit(1 if figures["found"] else 0)


@app.command()
def stream(
    cuts: Annotated[int, typer.Option(min=1, max=10_000, help="How often each stream is cut.")] = 50,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only this stream; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed cuts at other moments.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Does a cut lose or double anything that a stream says? Takes a few minutes. Exit code 1 if it does.

    Where the network has cursors nothing may be missing; where it has none, only what lies in a recorded gap.
    """
    from bowerbird.evaluate.stream import evaluate_stream

    output = Output(as_json=as_json)
    figures = evaluate_stream(cuts, seed=seed, names=only or (), say=output.progress)
    columns = ("cuts", "events", "missing", "recorded_gaps", "filled", "doubled")
    rows = [(name, *(each[column] for column in columns)) for name, each in figures["streams"].items()]
    output.table("", ("stream", *(column.replace("_", " ") for column in columns)), rows)
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def week(
    network: Annotated[
        list[str] | None, typer.Option("--network", metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Does a researcher's first week go with one command for each thing? Takes some minutes. Exit code 1 if not."""
    from bowerbird.evaluate.week import evaluate_week

    output = Output(as_json=as_json)
    figures = evaluate_week(networks=network or (), say=output.progress)
    output.line(f"{figures['one_command']} of {figures['things']} things worked with one command on every network that can.")
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def flavours(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FLAVOUR", help="Only this flavour of a server; may be repeated.")
    ] = None,
    flow: Annotated[list[str] | None, typer.Option("--flow", metavar="NAME", help="Only this flow; may be repeated.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many crawls run at once.", show_default="one for each core")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Does every built-in flow get along with every flavour of every server? Takes some minutes. Exit code 1 if not.

    Nothing that a server lists may be lost, nothing that lives be taken for gone, no token be seen by another host, and no crawl
    bring nothing and say nothing.
    """
    from bowerbird.evaluate.flavours import FIGURES, evaluate_flavours

    output = Output(as_json=as_json)
    figures = evaluate_flavours(only or (), flow or (), jobs=jobs or cpu_count() or 1, say=output.progress)
    output.table("", ("figure", "value"), [(name, figures[name]) for name in (*FIGURES, "crawls")])
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def hostile(
    only: Annotated[
        str, typer.Option("--only", metavar="KIND", help="Only attacks, facets or channels with this in their name.")
    ] = "",
    network: Annotated[str, typer.Option(help="Only this network.", show_default="all")] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many scenes run at once.", show_default="one for each core")
    ] = None,
    short: Annotated[bool, typer.Option("--short", help="A sample of about forty scenes.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Can a hostile server wedge, crash or rob a crawl? Takes about ten minutes. Exit code 1 if one can.

    Each scene is a crawl under attack, in its answers, on its streams or on real sockets, and then the same crawl of the same
    service restored: it must complete, lose nothing that it has not written down, and stay within 400 MB.
    """
    from bowerbird.evaluate.hostile import Wish, evaluate_hostile

    output = Output(as_json=as_json)
    wish = Wish(only=only, network=network, is_short=short, jobs=jobs or cpu_count() or 1, say=output.progress)
    figures = evaluate_hostile(wish)
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if isinstance(value, int | float)))
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def web(
    logins: Annotated[int, typer.Option(min=0, max=100_000, help="How many wrong logins are tried.")] = 1_000,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="KIND", help="Only this kind; may be repeated.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Show the pages in Chromium, where it is.")] = True,
    as_json: JsonFlag = False,
) -> None:
    """Can anybody get into the dashboard, or a page run what a network said? Takes some minutes. Exit code 1 if so.

    A real dashboard on loopback, on a store whose every text is markup, is attacked over HTTP by strangers, people of each role
    and pages of other hosts; then every page is read by a parser and shown in Chromium without the content policy.
    """
    from bowerbird.evaluate.web import KINDS, Wish, evaluate_web

    output = Output(as_json=as_json)
    if unknown := set(only or ()) - set(KINDS):
        raise typer.BadParameter(f"--only {', '.join(sorted(unknown))} is no kind of attack; write one of {', '.join(KINDS)}")
    figures = evaluate_web(Wish(logins=logins, only=tuple(only or ()), with_browser=browser, say=output.progress))
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if isinstance(value, int | float)))
    output.result(figures)
    raise typer.Exit(0 if figures["is_clean"] else 1)


@app.command()
def sampling(
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="Crawls per method, each in a world of its own.")] = 40,
    calls: Annotated[int, typer.Option(min=40, max=1_000_000, help="Calls of each crawl.")] = 600,
    accounts: Annotated[int, typer.Option(min=100, max=200_000, help="Accounts of each world.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Other seeds are other worlds, starts and walks.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """How far off are samples of the social graph by each method, for the same calls? Takes about ten minutes.

    Errors are relative (root mean square over the runs), of the mean degree and of the share of a label that 5 % of the accounts
    have; coverage is the share of 95 % intervals that hold the truth. Every crawl goes through the engine, in virtual time.
    """
    from bowerbird.evaluate.sampling import METHODS, Size, evaluate_sampling

    output = Output(as_json=as_json)
    figures = evaluate_sampling(Size(runs, calls, accounts, seed), say=output.progress)
    columns = ("error", "label_error", "calls", "coverage", "degree_coverage", "label_coverage")
    rows = [(name, *(f"{each[column]:.4g}" for column in columns)) for name, each in figures.items() if name in METHODS]
    output.table("", ("method", *(column.replace("_", " ") for column in columns)), rows)
    output.result(figures)


@app.command()
def recordings(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with recorded exchanges: *.json cassettes, *.jsonl events.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Are recorded answers of real servers understood, and which of their fields are not read? Exit code 1 if a call is not."""
    from bowerbird.evaluate.recordings import evaluate_recordings

    output = Output(as_json=as_json)
    figures = evaluate_recordings(folder)
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if isinstance(value, int)))
    output.table("fields that nobody reads", ("field", "sent"), list(figures["unknown_fields"].items())[:20])
    for line in (*figures["unmapped_calls"], *figures["quarantined_calls"]):
        output.line(line)
    output.result(figures)
    raise typer.Exit(1 if figures["unmapped"] else 0)


@app.command()
def places(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder with profile-locations and profiles-italian.")],
    texts: Annotated[int | None, typer.Option(min=1, help="So many texts besides the labelled ones; default: all.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """How often is the place that people write into their profiles understood?"""
    from bowerbird.clock import RealClock
    from bowerbird.evaluate.places import evaluate_places

    output = Output(as_json=as_json)
    figures = evaluate_places(data, stopwatch=RealClock().stopwatch, say=output.progress, most=texts)
    output.table("", ("figure", "value"), figures.items())
    output.result(figures)


@app.command()
def plan(
    scale: Annotated[float, typer.Option(min=0.01, max=10, help="Size of the crawls; smaller ones depend more on chance.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed is other worlds.")] = 1,
    provider: Annotated[str, typer.Option(help="The network that is planned for and crawled.")] = FIRST,
    as_json: JsonFlag = False,
) -> None:
    """Does what `bowerbird plan` says come true? Takes a few minutes. Exit code 1 if a figure is off by more than a fifth."""
    from bowerbird.evaluate.plans import evaluate_plans

    output = Output(as_json=as_json)
    figures = evaluate_plans(scale=scale, seed=seed, dialect=provider, say=output.progress)
    rows = [
        (name, what, each["planned"][what], each["happened"][what], f"{each['error'][what]:.1%}")
        for name, each in figures["flows"].items()
        for what in each["error"]
    ]
    output.table("", ("flow", "figure", "planned", "happened", "error"), rows)
    output.result(figures)
    raise typer.Exit(0 if figures["is_good"] else 1)


@app.command()
def coverage(
    accounts: Annotated[
        int | None, typer.Option(min=2, help="How large the world is.", show_default="3,000, or all of --posting-times")
    ] = None,
    days: Annotated[float, typer.Option(min=0.1, max=170, help="Virtual days to run.")] = 14.0,
    seed: Annotated[int, typer.Option(help="Another seed is another world.")] = 1,
    policies: Annotated[str, typer.Option(help="Only these, with commas in between.", show_default="all")] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many policies run at once.", show_default="one for each core")
    ] = None,
    posting_times: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Let the accounts write at recorded times: a .tsv or .csv, also .gz.")
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="The policies alone, without engine and store: minutes, not hours.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """How much of what people post does each policy capture with the same calls?

    Takes about forty minutes of one core, with --accounts 20000 some seven times as long; with --fast a few minutes.
    """
    from bowerbird.evaluate.coverage import Wish, evaluate_coverage

    output = Output(as_json=as_json)
    names = tuple(name.strip() for name in policies.split(",") if name.strip())
    wish = Wish(
        accounts=accounts,
        days=days,
        seed=seed,
        policies=names,
        jobs=jobs or cpu_count() or 1,
        posting_times=posting_times,
        fast=fast,
    )
    figures = evaluate_coverage(wish, output.progress)
    columns = ("posts", "per_user", "median_delay_minutes", "with_deleted", "before_deletion", "calls", "asks")
    measured = {name: each for name, each in figures.items() if isinstance(each, dict) and "asks" in each}
    rows = [(name, *(each[column] for column in columns)) for name, each in measured.items()]
    output.table("", ("policy", *(column.replace("_", " ") for column in columns)), rows)
    _as_published(output, figures["echo_published"], {name: each["as_published"] for name, each in measured.items()})
    output.result(figures)


def _as_published(output: Output, published: dict[str, Any], ours: dict[str, dict[str, Any]]) -> None:
    """The newest 200 posts of each account, as TwitterEcho measured: over all posts, per user, and per user by activity."""
    columns = {"TwitterEcho, published": published, **ours}
    by_class = {name: {each["under"]: each["per_user"] for each in told["by_activity"]} for name, told in columns.items()}
    rows = [(what, *(told[key] for told in columns.values())) for what, key in (("posts", "posts"), ("per user", "per_user"))]
    rows += [
        (f"  who write every {under} or more often", *(told.get(under, "") for told in by_class.values()))
        for under in (each["under"] for each in published["by_activity"])
    ]
    output.table("measured as TwitterEcho was: the newest 200 posts of each account", ("share captured", *columns), rows)


@app.command()
def money(
    only: Annotated[list[str] | None, typer.Option("--only", metavar="FLOW", help="Only this flow; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed is other worlds.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Does a crawl on X spend more than it may, is it seen, and does its plan come true? Takes about ten minutes.

    Every built-in flow with the default budget, one of its own, one for the month, and with plenty where it ends by itself, in
    virtual time. Exit code 1 if a cent too much is spent, a screen or JSON leaves dollars out, or a plan is off by more than a
    fifth.
    """
    from bowerbird.cli.screens.dollars_shown import Seeing
    from bowerbird.evaluate.money import CASES, evaluate_money

    output = Output(as_json=as_json)
    if unknown := set(only or ()) - CASES.keys():
        raise typer.BadParameter(f"--only {', '.join(sorted(unknown))} is no flow; write one of {', '.join(CASES)}")
    cases = {name: case for name, case in CASES.items() if not only or name in only}
    figures = evaluate_money(Seeing(), cases, seed=seed, say=output.progress)
    rows = [
        (name, *(f"${each[what]:,.2f}" for what in ("allowed", "spent", "planned")), f"{each['plan_error']:.1%}", *each["unseen"])
        for name, each in figures["by_crawl"].items()
    ]
    output.table(
        "", ("crawl", "allowed", "spent", "planned", "error", "unseen"), [(*row[:5], ", ".join(row[5:])) for row in rows]
    )
    output.table("", ("figure", "value"), ((name, value) for name, value in figures.items() if name != "by_crawl"))
    output.result(figures)
    raise typer.Exit(0 if figures["is_good"] else 1)
