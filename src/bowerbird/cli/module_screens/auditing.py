"""How an audit looks."""

from __future__ import annotations

from bowerbird.analysis.capture_rate import PUBLISHED, Part
from bowerbird.cli.screens.output import Output
from bowerbird.reports.audits import Audited


def show_audited(output: Output, found: Audited) -> None:
    output.line(
        f"{found.crawl}: {found.shown:,} of {found.accounts:,} accounts answered, {found.absent:,} are gone, "
        f"{found.silent:,} wrote nothing while the crawl knew them."
    )
    if not found.found:
        output.line("So there is nothing to hold the store against yet; audit again when the crawl has run for longer.")
        return
    whole, *classes = found.found
    posts, per_account = PUBLISHED
    output.line(
        f"Stored: {whole.had:,} of {whole.wrote:,} posts, {part_words(whole.posts)}; per account {part_words(whole.per_account)}"
    )
    output.line(f"(TwitterEcho captured {posts * 100:.1f} % and {per_account * 100:.1f} %, measured in the same way.)")
    rows = [
        (
            each.under,
            f"{each.accounts:,}",
            f"{each.wrote:,}",
            f"{each.lost:,}",
            part_words(each.posts),
            part_words(each.per_account),
        )
        for each in classes
    ]
    output.line()
    output.table("", ["a post within", "accounts", "posts", "lost", "of posts", "per account"], rows)


def part_words(part: Part) -> str:
    """`75.2 % (70.1 to 80.3)`."""
    return f"{part.share * 100:.1f} % ({part.low * 100:.1f} to {part.high * 100:.1f})"
