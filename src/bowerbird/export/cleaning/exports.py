"""An earlier export, gone through file by file. Its manifest says before a file is replaced what that will be."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.export.cleaning.files import Cleaned, clean
from bowerbird.export.cleaning.judging import Judge
from bowerbird.export.jobs.destinations import Finished, Folder, OutFile
from bowerbird.export.jobs.manifest import Applied, Manifest, ManifestFile, Replacing
from bowerbird.ports import Clock, Database
from bowerbird.store.forgetting.tombstones import Tombstones

_ENDING = ".manifest.json"
_GRAPHS = (".gexf", ".graphml")
_AGAIN = "export it again, which leaves out whoever was forgotten, and delete this one"
Said = Callable[[str, int], None]
"""Hears which file was gone through, and how many of its rows went."""


class Known(Struct, frozen=True):
    """What is known to be gone."""

    tombstones: Tombstones
    database: Database | None
    """None: the tombstones are all that is known, from a list that was shared."""
    shown: str


class Wanted(Struct, frozen=True):
    """How an export is gone through."""

    is_dry: bool = False
    takes_edited: bool = False
    """Also files that are not as they were exported."""


class Export:
    """One export in a folder of this machine, with its manifest."""

    def __init__(self, path: Path, folder: Folder | None = None) -> None:
        """`path`: of the manifest."""
        self.path = path
        self._folder = folder or Folder(path.parent)
        self._file = ManifestFile(self._folder, path.name)
        found = self._file.read()
        if found is None:
            raise UserError(f"{path} is not there any more", code="file_not_found")
        self.manifest: Manifest = found

    def check(self, known: Known) -> None:
        """Raises `UserError` for exports that cannot be gone through, before anything is changed."""
        manifest, shown = self.manifest, self.path.name.removesuffix(_ENDING)
        if manifest.go_on is not None:
            raise UserError(f"the export {shown} is not whole yet", "run its command again, then this one", code="file_damaged")
        if manifest.what == "network":
            raise UserError(f"{shown} is a graph, of which single people cannot be taken out", _AGAIN, code="unsupported")
        if manifest.format == "xlsx":
            raise UserError(f"{shown} is a workbook, which cannot be changed row by row", _AGAIN, code="unsupported")
        if manifest.options.get("pseudonyms"):
            raise UserError(f"{shown} has pseudonyms, by which nobody can be found who was forgotten", _AGAIN, code="unsupported")
        if manifest.options.get("raw"):
            raise UserError(
                f"{shown} holds payloads as the networks sent them, which do not tell what is gone",
                _AGAIN,
                code="unsupported",
            )
        if manifest.format == "ids" and manifest.what == "media":
            raise UserError(f"{shown} holds ids of pictures, which do not say whose they are", _AGAIN, code="unsupported")
        if manifest.what == "calls" and known.database is None:
            raise UserError(
                f"{shown} is a log of calls, which only the store can read", "name that with --store", code="unsupported"
            )

    async def apply(self, known: Known, wanted: Wanted, clock: Clock, said: Said) -> Cleaned:
        """Goes through every file; killed, the same command goes on. Files in which nothing changes are left alone."""
        self._settle_broken_off()
        for file in () if wanted.takes_edited else self.manifest.files:
            self._check_file(file)
        if not wanted.is_dry:
            self._begin(known, clock)
        judge, whole = Judge(self.manifest.what, known.tombstones, known.database), Cleaned()
        for place, file in enumerate(self.manifest.files):
            cleaned = await self._apply(place, file, judge, wanted)
            whole.add(cleaned)
            said(file.name, cleaned.removed)
        if not wanted.is_dry:
            self.manifest.applied[-1] = structs.replace(self.manifest.applied[-1], ended_at=clock.now())
            self._file.write(self.manifest)
        return whole

    async def _apply(self, place: int, file: Finished, judge: Judge, wanted: Wanted) -> Cleaned:
        of = (self.manifest.format, self.manifest.what, self.manifest.columns)
        path = self.path.parent / file.name
        if wanted.is_dry:
            return await clean(path, None, judge, of)
        out = OutFile(self._folder, file.name)
        try:
            cleaned = await clean(path, out, judge, of)
        except BaseException:
            self._drop(out)
            raise
        if cleaned.removed or cleaned.changed:
            self._replace(place, out, cleaned)
        else:
            self._drop(out)
        return cleaned

    def _replace(self, place: int, out: OutFile, cleaned: Cleaned) -> None:
        out.sync()
        self.manifest.replacing = Replacing(out.made(cleaned.rows), cleaned.removed, cleaned.changed)
        self._file.write(self.manifest)
        out.finish(cleaned.rows)
        self._settle(place)
        self._file.write(self.manifest)

    def _settle(self, place: int) -> None:
        """Notes that what was to replace a file has replaced it."""
        done, last = self.manifest.replacing, self.manifest.applied[-1]
        if done is None:
            return
        self.manifest.files[place], self.manifest.replacing = done.file, None
        self.manifest.rows = sum(each.rows for each in self.manifest.files)
        self.manifest.applied[-1] = structs.replace(
            last, rows_removed=last.rows_removed + done.removed, rows_changed=last.rows_changed + done.changed
        )

    def _drop(self, out: OutFile) -> None:
        out.leave()
        self._folder.local(out.name).unlink(missing_ok=True)

    def _settle_broken_off(self) -> None:
        """A process may have died just after it replaced a file; just before it, the file is simply gone through again."""
        done = self.manifest.replacing
        if done is not None and self._sha256(done.file.name) == done.file.sha256:
            self._settle([each.name for each in self.manifest.files].index(done.file.name))
        self.manifest.replacing = None

    def _check_file(self, file: Finished) -> None:
        if self._sha256(file.name) != file.sha256:
            raise UserError(
                f"{self.path.parent / file.name} was changed after it was exported (see the checksum in {self.path.name})",
                "put the exported file back, or go through it as it is with --yes",
                code="file_changed",
            )

    def _sha256(self, name: str) -> str:
        path = self.path.parent / name
        try:
            with path.open("rb") as file:
                return file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(
                f"cannot read {path}, which {self.path.name} tells of: {error.strerror}",
                "put it back, or export again",
                code="file_unreadable",
            ) from error

    def _begin(self, known: Known, clock: Clock) -> None:
        if not self.manifest.applied or self.manifest.applied[-1].ended_at is not None:
            self.manifest.applied.append(Applied(began_at=clock.now(), known_from=known.shown))
        try:
            self._file.write(self.manifest)
        except UserError as error:
            raise UserError(
                f"nothing was changed, the folder {self.path.parent} must be writable for it: {error}", code="file_unwritable"
            ) from error


def find_exports(written: str) -> list[Export]:
    """The exports in a folder, or that of a file; raises `UserError` where there is none that can be gone through."""
    if written.startswith("s3://"):
        raise UserError(f"{written} is in an object store, where files cannot be changed in place", _AGAIN, code="unsupported")
    path = Path(written)
    if path.suffix.lower() in _GRAPHS:
        raise UserError(f"{written} is a graph, of which single people cannot be taken out", _AGAIN, code="unsupported")
    found = sorted(path.glob(f"*{_ENDING}")) if path.is_dir() else [_manifest_of(path)]
    if not found or not found[0].is_file():
        raise UserError(
            f"{written} has no manifest ({_expected(path)}), and without it nobody knows what its files hold",
            "name a file or a folder that `bowerbird export` wrote, with its manifest; graphs are exported again",
            code="file_damaged",
        )
    return [Export(each) for each in found]


def _manifest_of(path: Path) -> Path:
    return path if path.name.endswith(_ENDING) else path.with_name(f"{path.name}{_ENDING}")


def _expected(path: Path) -> str:
    return f"_…{_ENDING} in it" if path.is_dir() else f"{_manifest_of(path).name} beside it"
