"""References to words over time, beside a series of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bowerbird.analysis.series import MAX_BYTES, MAX_ROWS, at_lag_zero, read_series, strongest, two_places
from bowerbird.errors import UserError
from bowerbird.ports import Transaction
from bowerbird.reports.blocks.moments import end_moment, moment
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.words.looking import Wanted
from bowerbird.reports.words.reading import Compared, Study, compared, read_precision, read_studies, read_study
from bowerbird.studies.word_studies import create_study, remove_study, restart_study, set_series
from bowerbird.web.errors import NotFound
from bowerbird.web.pages.figures.shared import Figures, Plot, back, no_numbers
from bowerbird.web.security import Form, Role

_FEW = 12
_LARGEST_NUMBER = 2**31
_ROUND = 64 * 1024
"""What stands around a file in a form."""


def routes(figures: Figures) -> list[BaseRoute]:
    pages = _Pages(figures)
    acting = figures.site.acting
    one = "/figures/words/{study:int}"
    return [
        Route("/figures/words", pages.index, methods=["GET"]),
        Route("/figures/words", acting(Role.STEER, pages.make), methods=["POST"]),
        Route(one, pages.study),
        Route(f"{one}/words", acting(Role.STEER, pages.change), methods=["POST"]),
        Route(f"{one}/series", acting(Role.STEER, pages.upload, MAX_BYTES + _ROUND), methods=["POST"]),
        Route(f"{one}/remove", acting(Role.STEER, pages.remove), methods=["POST"]),
        Route("/figures/plots/words/{study:int}/{what}", pages.plot),
    ]


async def study_of(tx: Transaction, request: Request) -> Study:
    """The study that an address names."""
    number = int(request.path_params["study"])
    study = await read_study(tx, number) if number < _LARGEST_NUMBER else None
    if study is None:
        raise NotFound("There is no study of this number; it may have been removed.", code="unknown_name")
    return study


async def found_study(figures: Figures, request: Request) -> Study:
    """The same for those who read nothing else."""
    async with figures.site.database.reading() as tx:
        return await study_of(tx, request)


class _Pages:
    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._site = figures.site
        figures.site.live.add("study", self._progress)

    async def index(self, request: Request) -> Response:
        async with self._site.database.reading() as tx:
            studies, progress = await read_studies(tx), await self._figures.progress(tx)
        values = {"studies": studies, "units": list(Unit)}
        return self._figures.page(request, "figures/words.html", title="Words", progress=progress, **values)

    async def make(self, request: Request, form: Form) -> Response:
        wanted = Wanted(
            words=_lines(form), unit=_unit(form), since=_time(form, "since", moment), until=_time(form, "until", end_moment)
        )
        who = self._figures.name_of(request)

        async def do() -> int:
            async with self._site.database.transaction() as tx:
                return await create_study(tx, str(form.get("name") or ""), wanted, who, self._site.clock.now())

        number = await self._site.act(request, "make study", ", ".join(wanted.words)[:80], do)
        self._site.keeper.stir()
        return back(f"/figures/words/{number}")

    async def study(self, request: Request) -> Response:
        async with self._site.database.reading() as tx:
            study = await study_of(tx, request)
            precision, progress = await read_precision(tx, study.number), await self._figures.progress(tx)
        told = compared(study)
        return self._figures.page(
            request,
            "figures/study.html",
            title=study.name,
            progress=progress,
            study=study,
            told=told,
            precision=precision,
            plainly=None if told is None else at_lag_zero(told.by_posts),
            strongest=None if told is None else strongest({"posts": told.by_posts, "people": told.by_people}),
            largest=MAX_BYTES,
            two_places=two_places,
            most_rows=MAX_ROWS,
        )

    async def change(self, request: Request, form: Form) -> Response:
        study = await found_study(self._figures, request)
        words = _lines(form) or [*study.wanted.words, *map(str, form.getlist("spelling"))]

        async def do() -> None:
            async with self._site.database.transaction() as tx:
                await restart_study(tx, study.number, words)

        await self._site.act(request, "change study", study.name, do)
        self._site.keeper.stir()
        return back(f"/figures/words/{study.number}")

    async def upload(self, request: Request, form: Form) -> Response:
        study, given = await found_study(self._figures, request), form.get("file")
        if not isinstance(given, UploadFile) or not given.filename:
            raise UserError("choose a CSV file first: two columns, a time and a number")
        body = await given.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise UserError(f"the file is larger than {MAX_BYTES:,} bytes", "sum it up by day or month first", code="too_large")
        heading, series = read_series(body)
        name = str(form.get("name") or heading or given.filename.removesuffix(".csv"))

        async def do() -> None:
            async with self._site.database.transaction() as tx:
                await set_series(tx, study.number, name, series)

        await self._site.act(request, "upload series", study.name, do)
        return back(f"/figures/words/{study.number}")

    async def remove(self, request: Request, form: Form) -> Response:
        study = await found_study(self._figures, request)

        async def do() -> None:
            async with self._site.database.transaction() as tx:
                await remove_study(tx, study.number)

        await self._site.act(request, "remove study", study.name, do)
        return back("/figures/words")

    async def plot(self, request: Request) -> JSONResponse:
        study = await found_study(self._figures, request)
        told, what = compared(study), request.path_params["what"]
        if told is None:
            return no_numbers()
        return _lags(study, told) if what == "lags" else _over_time(study, told, what)

    async def _progress(self, argument: str) -> str:
        async with self._site.database.reading() as tx:
            study = await read_study(tx, int(argument)) if argument.isdigit() and len(argument) < _FEW else None
        return self._site.fragment("figures/study_progress.html", study=study)


def _over_time(study: Study, told: Compared, what: str) -> JSONResponse:
    if what == "series":
        name = study.series_name or "series"
        return Plot("lines", name, "", study.ended_at).over_time(told.times, {name: told.series})
    plot = Plot("lines", f"per {study.wanted.unit}", "", study.ended_at)
    return plot.over_time(told.times, {"posts": told.posts, "people": told.people})


def _lags(study: Study, told: Compared) -> JSONResponse:
    lags = [each.lag for each in told.by_posts]
    series = {
        "posts, Pearson": [None if each.pearson is None else each.pearson.value for each in told.by_posts],
        "posts, Spearman": [None if each.spearman is None else each.spearman.value for each in told.by_posts],
        "people, Pearson": [None if each.pearson is None else each.pearson.value for each in told.by_people],
        "people, Spearman": [None if each.spearman is None else each.spearman.value for each in told.by_people],
    }
    label = f"the series comes so many {study.wanted.unit}s later"
    return Plot("lines", "correlation", "", study.ended_at).over("number", label, lags, series)


def _lines(form: Form) -> list[str]:
    """Words as they were written into a field: one on each line, or with commas between."""
    return [word for line in str(form.get("words") or "").splitlines() for word in line.split(",") if word.strip()]


def _unit(form: Form) -> Unit:
    named = str(form.get("unit") or Unit.DAY)
    try:
        return Unit(named)
    except ValueError as error:
        raise UserError(f"{named[:40]!r} is no unit of time", f"there are {', '.join(Unit)}", code="unknown_name") from error


def _time(form: Form, name: str, read: Callable[[str], datetime]) -> datetime | None:
    written = str(form.get(name) or "").strip()
    return read(written) if written else None
