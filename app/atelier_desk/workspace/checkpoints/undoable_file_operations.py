"""Undoable changes of workspace files: the previous state is stored before anything is changed.

A pending record is written before a change and completed after it. After a kill, the pending record names the file to
check: the change was made or not, and its temporary file is deleted.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.support.visible_and_shortened_text import is_storable_name, readable_name
from atelier_desk.workspace import file_copying
from atelier_desk.workspace.checkpoints import trash
from atelier_desk.workspace.checkpoints.checkpoint_files import CheckpointFiles
from atelier_desk.workspace.checkpoints.held_files import HeldFiles
from atelier_desk.workspace.checkpoints.move_copy_checks import copyable, missing_folders, movable
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.confined_root import ConfinedRoot, temporary_name
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.path_resolution import WorkspacePath

log = logging.getLogger(__name__)

FILE = 50 * 1024 * 1024
"""Maximum bytes of a file that is written or changed."""


@dataclass(frozen=True, slots=True)
class Author:
    """Author of a change.

    ``command``: a command, which may have changed other files too. ``tainted``: outside sources that its team had read;
    files it writes are marked. ``undoes``: the change being undone, recorded from the start, so that a kill does not
    leave an unexplained change.
    """

    workflow_id: str
    run_id: str = ""
    call_id: str = ""
    agent_name: str = ""
    command: bool = False
    undoes: str = ""
    tainted: tuple[str, ...] = ()


class Running(Protocol):
    """A running program that may create protected files."""

    def sweep(self) -> Iterable[str]:
        """Process its changes so far; return the workflows of held files."""
        ...


class WorkspaceFiles:
    """All changes to workspace files of one data folder.

    Args:
        folder: where checkpoints are stored, in the data folder.
        closed: folders that no tool may access: the data folder.

    All calls block. Changes are made one at a time.
    """

    def __init__(
        self,
        folder: Path,
        closed: Sequence[Path] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        announce_held: Callable[[str], None] = lambda workflow_id: None,
    ) -> None:
        self.store = CheckpointFiles(folder)
        self.held = HeldFiles(folder / "held")
        self.recovered = False
        """Whether the changes of programs ended by a kill have been processed."""
        self.announce_held = announce_held
        """Called with a workflow id, in the event loop's thread, when a file starts to wait for a person."""
        self.marks = TaintMarks(folder / "taint.jsonl")
        self._closed = tuple(closed)
        self.now = now
        self.lock = threading.RLock()
        self.running: list[Running] = []
        """Running programs, each with the protected files that existed before it."""
        self._last = 0
        self._unsettled: set[str] = set()
        """Interrupted changes that could not be checked; logged once."""

    def sweep(self) -> set[str]:
        """Process changes of running programs to protected files before anything obeys these.

        Return workflows of held files.
        """
        return {workflow_id for each in list(self.running) for workflow_id in each.sweep()}

    def held_record(self, author: Author, root: Path, path: str, *, by: str = "") -> HeldFile:
        """Create the record of something to be held, by its path on disk; ``by``: its author, if no agent."""
        return HeldFile(
            id=f"{time.time_ns():020d}-{secrets.token_hex(3)}",
            workflow_id=author.workflow_id,
            run_id=author.run_id,
            call_id=author.call_id,
            agent_name=author.agent_name,
            author=by,
            at=self.now(),
            root=str(root),
            path=readable_name(path),
            raw=not is_storable_name(path),
        )

    def root(self, folder: Path | str) -> ConfinedRoot:
        """The granted folder, confined."""
        return ConfinedRoot(Path(folder), self._closed)

    def write(
        self,
        author: Author,
        place: WorkspacePath,
        data: bytes,
        *,
        new: bool = False,
        mode: int | None = None,
        expected: bytes | None = None,
        was: str = "",
    ) -> Change | None:
        """Write a whole file and missing folders above it; None if it already has this content.

        Args:
            mode: its permission bits; None keeps the present ones.
            expected: the content it must still have; ``was``: the same as a hash.

        Raises:
            ToolError: ``changed`` when it differs; as ``ConfinedRoot.write``.
        """
        if len(data) > FILE:
            raise ToolError(
                "The file would have {size} bytes; at most {most} are allowed.",
                code="too_large",
                size=len(data),
                most=FILE,
            )
        root = self.root(place.root)
        with self.lock:
            before = self._content(root, place)
            if (expected is not None and before != expected) or (was and (before is None or digest(before) != was)):
                raise ToolError(
                    "{path} has been changed in the meantime. Read it again.", code="changed", path=place.shown
                )
            there = root.inspect(place.path)
            if before == data and not new and (mode is None or there is None or there.mode == mode):
                return None
            if before is not None and new:
                raise ToolError("{path} exists already.", code="exists", path=place.shown)
            change = self._change(
                author,
                place,
                action="created" if before is None else "changed",
                before=self.store.store(before) if before is not None else "",
                after=self.store.store(data),
                mode=there.mode if there is not None else None,
                temporary=temporary_name(),
                made=missing_folders(root, place.path.rpartition("/")[0]),
            )
            # Before the write, so that a kill cannot leave the file unmarked.
            self.marks.wrote(place.root, place.path, author.tainted, change.after)
            with self._recorded(change) as done:
                made = root.make_folder(place.path.rpartition("/")[0])
                root.write(
                    place.path, data, new=before is None, mode=mode, temporary=change.temporary, expected=change.before
                )
                return done(made=tuple(made))

    def delete(self, author: Author, place: WorkspacePath, *, was: str = "") -> Change:
        """Move a file, a link or a whole folder to the trash.

        Args:
            was: the hash it must still have. Checked in the trash, where nobody writes; moved back if it differs.

        Raises:
            ToolError: ``changed``; as ``ConfinedRoot``.
        """
        root = self.root(place.root)
        with self.lock:
            root.refuse_root(place.path)
            with root.located(place.path, follow=False) as (folder, name):
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                before = file_copying.digest_of(folder, name)
                if was and before != was:
                    raise ToolError(
                        "{path} has been changed in the meantime. Read it again.", code="changed", path=place.shown
                    )
                change = self._change(
                    author,
                    place,
                    action="deleted",
                    before=before,
                    mode=stat.S_IMODE(info.st_mode),
                    folder=stat.S_ISDIR(info.st_mode),
                    temporary=temporary_name(),
                )
                with self._recorded(change) as done, self.store.trash_folder(change.id, make=True) as trash_folder:
                    trash.put(folder, name, trash_folder, change.temporary)
                    # A large folder without an expected hash is not read a second time.
                    found = before if change.folder and not was else file_copying.digest_of(trash_folder, trash.CONTENT)
                    if was and found != was:
                        try:
                            trash.put_back(folder, name, trash_folder, change.temporary)
                        except FileExistsError:
                            # The place is taken again: the file stays listed as deleted and can be restored.
                            self._give_up(folder, change, done, before=found, undoes="")
                        raise ToolError(
                            "{path} has been changed in the meantime. Read it again.", code="changed", path=place.shown
                        )
                    os.fsync(folder)
                    return self._give_up(folder, change, done, before=found)

    def _give_up(self, folder: int, change: Change, done: Callable[..., Change], **facts: object) -> Change:
        """Record that something is in the trash, then delete its remaining original if the trash is on another disk."""
        self.store.save(change.model_copy(update=facts))
        try:
            file_copying.delete(folder, change.temporary)
        except OSError as error:
            done(**facts)
            raise ToolError(
                (
                    "{path} is in the trash, but not all of it can be deleted from its disk ({reason}): the rest is in "
                    "{rest}. Tell the user."
                ),
                code="denied",
                path=change.path,
                rest=change.temporary,
                reason=error.strerror or str(error),
            ) from error
        return done(**facts)

    def move(
        self, author: Author, source: WorkspacePath, target: WorkspacePath, *, overwrite: bool = False
    ) -> list[Change]:
        """Move a file or folder; with ``overwrite``, an existing target goes to the trash first."""
        root, other = self.root(source.root), self.root(target.root)
        with self.lock:
            here, there = movable(self.root, source, target, overwrite=overwrite)
            changes = [self.delete(author, target)] if there is not None else []
            with root.located(source.path, follow=False) as (folder, name):
                content = file_copying.digest_of(folder, name)
            change = self._change(
                author,
                source,
                action="moved",
                before=content,
                after=content,
                moved_to=target.path,
                moved_root=str(target.root),
                folder=here.kind == "folder",
                made=missing_folders(other, target.path.rpartition("/")[0]),
            )
            self._carry(author, source, target)
            with self._recorded(change) as done:
                made = other.make_folder(target.path.rpartition("/")[0])
                root.rename(source.path, other, target.path)
                changes.append(done(made=tuple(made)))
            return changes

    def copy(
        self, author: Author, source: WorkspacePath, target: WorkspacePath, *, overwrite: bool = False
    ) -> list[Change]:
        """Copy a file or folder: first to a temporary name beside the target, then renamed."""
        root, other = self.root(source.root), self.root(target.root)
        with self.lock:
            here, there = copyable(self.root, source, target, overwrite=overwrite)
            changes = [self.delete(author, target)] if there is not None else []
            with root.located(source.path) as (folder, name):
                change = self._change(
                    author,
                    target,
                    action="created",
                    after=file_copying.digest_of(folder, name),
                    folder=here.kind == "folder",
                    temporary=temporary_name(),
                    made=missing_folders(other, target.path.rpartition("/")[0]),
                )
                self._carry(author, source, target)
                with self._recorded(change) as done:
                    made = other.make_folder(target.path.rpartition("/")[0])
                    with other.located(target.path, follow=False) as (into, new):
                        try:
                            file_copying.copy(folder, name, into, change.temporary)
                            copied = file_copying.digest_of(into, change.temporary)
                            if copied != change.after:
                                # Pipes were skipped, or the source changed meanwhile: the recorded hash is that of the
                                # copy.
                                self.store.begin(change.model_copy(update={"after": copied}))
                        except BaseException:
                            file_copying.delete(into, change.temporary)
                            raise
                        temporary_path = f"{target.path.rpartition('/')[0]}/{change.temporary}".lstrip("/")
                        other.rename(
                            temporary_path,
                            other,
                            target.path.rpartition("/")[0] + f"/{new}" if "/" in target.path else new,
                        )
                    changes.append(done(made=tuple(made), after=copied))
            return changes

    def _carry(self, author: Author, source: WorkspacePath, target: WorkspacePath) -> None:
        brought = author.tainted if source.root != target.root else ()
        self.marks.carry(str(source.root / source.path), str(target.root / target.path), target.root, brought)

    def make_folder(self, author: Author, place: WorkspacePath) -> Change | None:
        """Create a folder and missing ones above it; None if it exists."""
        root = self.root(place.root)
        with self.lock:
            here = root.inspect(place.path)
            if here is not None and here.kind == "folder":
                return None
            if here is not None:
                raise ToolError(
                    "{path} exists already, and is no folder: choose another name.", code="exists", path=place.shown
                )
            change = self._change(
                author, place, action="created", folder=True, made=missing_folders(root, place.path.rpartition("/")[0])
            )
            with self._recorded(change) as done:
                made = root.make_folder(place.path)
                with root.located(place.path) as (folder, name):
                    return done(made=tuple(made[:-1]), after=file_copying.digest_of(folder, name))

    def note(
        self,
        author: Author,
        place: WorkspacePath,
        before: bytes | None,
        after: bytes | None,
        *,
        mode: int | None = None,
        modes: Mapping[str, int] = MappingProxyType({}),
        made: tuple[str, ...] = (),
    ) -> Change:
        """Record a change that was already made; None stands for no file. It can be undone like any other.

        ``mode``, ``modes``, ``made``: see ``Change``.
        """
        with self.lock:
            change = self._change(
                author,
                place,
                action="created" if before is None else "deleted" if after is None else "changed",
                before=self.store.store(before) if before is not None else "",
                after=self.store.store(after) if after is not None else "",
                mode=mode,
                modes=dict(modes),
                made=made,
            )
            if after is None and before is not None:
                with self.store.trash_folder(change.id, make=True) as trash_folder:
                    handle = os.open(trash.CONTENT, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=trash_folder)
                    with os.fdopen(handle, "wb") as file:
                        file.write(before)
                        os.fchmod(handle, mode if mode is not None else 0o600)
                        os.fsync(handle)
            self.store.save(change)
            return change

    def recover(self) -> None:
        """Resolve changes interrupted by a kill. Those in missing folders wait until they can be checked."""
        with self.lock:
            for change in self.store.pending():
                try:
                    if not change.undoes and self.store.record(change).exists():
                        if change.action == "deleted":
                            self._delete_aside(change)
                        # the kill came after its completion, and the file may have changed since
                        self.store.drop(change)
                    else:
                        self._settle(change)
                except (AtelierError, OSError):
                    if change.id not in self._unsettled:
                        log.warning(
                            "a change of files was cut off and cannot be looked at: %s", change.path, exc_info=True
                        )
                    self._unsettled.add(change.id)

    def _delete_aside(self, change: Change) -> None:
        """Delete the remaining original of something in the trash of another disk, see ``_give_up``."""
        try:
            with self.root(change.root).located(change.path, follow=False) as (folder, _name):
                file_copying.delete(folder, change.temporary)
        except ToolError as error:
            if error.code not in ("not_found", "not_a_folder"):
                raise

    def _settle(self, change: Change) -> None:
        if change.action == "deleted":
            made = trash.settle(self.store, self.root(change.root), change)
        else:
            made = self._settled(change)
        if made is None:
            self.store.drop(change)
            self.store.remove(change)
            return
        self.store.finish(made)
        if made.undoes:
            with contextlib.suppress(NotFoundError):
                self.complete_undo(self.store.get(made.workflow_id, made.undoes), made)

    def _settled(self, change: Change) -> Change | None:
        """Return the change if it was made, otherwise None."""
        target = self.root(change.moved_root or change.root)
        # Files are written through links; moves and restores act on the link itself.
        follow = change.action == "changed" or (change.action == "created" and not change.undoes)
        if change.action == "changed":
            self._give_back(change)
        if change.temporary:
            with contextlib.suppress(ToolError), self.root(change.root).located(change.path) as (folder, _name):
                file_copying.delete(folder, change.temporary)
            with (
                contextlib.suppress(ToolError),
                self.root(change.root).located(change.path, follow=False) as (folder, _name),
            ):
                file_copying.delete(folder, change.temporary)
        now = self.digest_at(target, change.moved_to or change.path, follow=follow)
        if change.action == "moved":
            made = now == change.after and self.digest_at(self.root(change.root), change.path) == ""
        else:
            made = now != "" and (now == change.after or (change.folder and not change.after))
        return change.model_copy(update={"after": change.after or now}) if made else None

    def complete_undo(self, change: Change, by: Change | None) -> None:
        """Record that a change was undone (the files are already restored), and remove its folders if empty.

        Args:
            by: the change that undid it; None if nothing had to be done.
        """
        if not change.undone_by:
            for made in reversed(change.made):
                with contextlib.suppress(AtelierError):
                    self.root(change.moved_root or change.root).remove_empty(made)
            self.store.save(change.model_copy(update={"undone_by": by.id if by is not None else change.id}))
        if change.action == "deleted":
            self.store.empty_trash(change)
        if by is not None:
            self.store.drop(by)

    def _give_back(self, change: Change) -> None:
        """After a kill between exchanging two files and checking the old one: restore what somebody else wrote."""
        with contextlib.suppress(ToolError), self.root(change.root).located(change.path) as (folder, name):
            out = file_copying.digest_of(folder, change.temporary)
            if out not in ("", change.before) and file_copying.digest_of(folder, name) == change.after:
                os.rename(change.temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    def digest_at(self, root: ConfinedRoot, path: str, *, follow: bool = True) -> str:
        """Return the hash of the file at a path, empty if there is none."""
        try:
            with root.located(path, follow=follow) as (folder, name):
                return file_copying.digest_of(folder, name)
        except ToolError as error:
            if error.code in ("not_found", "not_a_folder"):
                return ""
            raise

    def bring_back(self, author: Author, change: Change, *, force: bool = False) -> Change:
        """Restore something from the trash to its place, which must be free.

        Args:
            force: even if it is not as it was deleted.

        Raises:
            ConflictError: ``damaged``: it is not as it was deleted.
            ToolError: ``exists``; ``not_found``: it is no longer stored; as ``ConfinedRoot``.
        """
        root = self.root(change.root)
        target = WorkspacePath(Path(change.root), change.path, change.path)
        above = change.path.rpartition("/")[0]
        with self.lock, self.store.trash_folder(change.id) as trash_folder:
            found = change.before
            try:
                trash.verify(trash_folder, change, self.store.trash(change.id))
            except ConflictError:
                if not force:
                    raise
                found = file_copying.digest_of(trash_folder, trash.CONTENT)
            back = self._change(
                author,
                target,
                action="created",
                after=found,
                folder=change.folder,
                temporary=temporary_name(),
                made=missing_folders(root, above),
            )
            with self._recorded(back) as done:
                made = root.make_folder(above)
                try:
                    for each in made:
                        if each in change.modes:
                            root.set_mode(each, change.modes[each])
                    with root.located(change.path, follow=False) as (folder, name):
                        trash.bring_back(folder, name, trash_folder, back.temporary, found)
                except BaseException:
                    for each in reversed(made):
                        with contextlib.suppress(AtelierError):
                            root.remove_empty(each)
                    raise
                return done(made=tuple(made))

    def _content(self, root: ConfinedRoot, place: WorkspacePath) -> bytes | None:
        try:
            return root.read(place.path, FILE)
        except ToolError as error:
            if error.code == "not_found":
                return None
            raise

    def _change(self, author: Author, place: WorkspacePath, **facts: object) -> Change:
        # Keeps the order of changes made in the same nanosecond or after the clock was set back.
        self._last = max(time.time_ns(), self._last + 1)
        return Change.model_validate(
            {
                "id": f"{self._last:020d}-{secrets.token_hex(3)}",
                "workflow_id": author.workflow_id,
                "run_id": author.run_id,
                "call_id": author.call_id,
                "agent_name": author.agent_name,
                "command": author.command,
                "undoes": author.undoes,
                "at": self.now(),
                "root": str(place.root),
                "path": place.path,
                **facts,
            }
        )

    @contextlib.contextmanager
    def _recorded(self, change: Change) -> Iterator[Callable[..., Change]]:
        """Enclose a change: write its pending record before, and complete it when ``done`` was called."""
        self.store.begin(change)
        finished = False

        def done(**facts: object) -> Change:
            nonlocal finished, change
            change = change.model_copy(update=facts)
            self.store.finish(change)
            finished = True
            return change

        try:
            yield done
        except BaseException:
            if finished:
                raise
            # between two disks it may have failed halfway, with the copy already in the trash
            if change.action == "deleted":
                with contextlib.suppress(AtelierError, OSError):
                    self._settle(change)
            else:
                self.store.drop(change)
            raise
