"""The precision of a query: people say of 200 posts, drawn by lot, whether they are about what is meant; one key each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.errors import UserError
from bowerbird.reports.words.reading import read_drawn_posts, read_labels, read_precision
from bowerbird.studies.word_studies import PostLabel, label_post
from bowerbird.web.pages.figures.shared import Figures, back
from bowerbird.web.pages.figures.word_studies import found_study, study_of
from bowerbird.web.security import Form, Role

_LONGEST_NUMBER = 18


def routes(figures: Figures) -> list[BaseRoute]:
    site = figures.site

    async def index(request: Request) -> Response:
        who = figures.name_of(request)
        async with site.database.reading() as tx:
            study = await study_of(tx, request)
            sample, labels = await read_drawn_posts(tx, study.number), await read_labels(tx, study.number)
            precision, progress = await read_precision(tx, study.number), await figures.progress(tx)
        mine = {number: said[who] for number, said in labels.items() if who in said}
        left = [post for post in sample if post.number not in mine]
        asked = request.query_params.get("post", "")
        shown = next((post for post in sample if str(post.number) == asked), left[0] if left else None)
        done = [post for post in sample if post.number in mine]
        return figures.page(
            request,
            "figures/label.html",
            title=f"Label {study.name}",
            progress=progress,
            study=study,
            post=shown,
            said=None if shown is None else mine.get(shown.number),
            last=done[-1] if done else None,
            done=len(done),
            all=len(sample),
            precision=precision,
        )

    async def say(request: Request, form: Form) -> Response:
        study, written = await found_study(figures, request), str(form.get("post") or "")
        if not written.isdecimal() or len(written) > _LONGEST_NUMBER:
            raise UserError("this form names no post", "load the page again", code="unknown_post")
        label = PostLabel(int(written), figures.name_of(request), str(form.get("label") or "") or None)

        async def do() -> None:
            await label_post(site.database, study.number, label, site.clock.now())

        await site.act(request, "label post", f"{study.name}: post {label.post} by {label.who}", do)
        return back(f"/figures/words/{study.number}/label")

    path = "/figures/words/{study:int}/label"
    return [
        Route(path, index, methods=["GET"]),
        Route(path, site.acting(Role.STEER, say), methods=["POST"]),
    ]
