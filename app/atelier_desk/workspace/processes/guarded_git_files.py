# ruff: noqa: PTH110, PTH112, PTH118, PTH119, PTH120, PTH208
"""Guard everything in a workspace that git executes or obeys: recorded before a command, restored after it.

A leaf: the launcher loads it as a file.

Covered, in every repository that git would find in the granted folders: location and target of ``.git``, ``HEAD``,
``commondir``, settings, hooks, ``.gitmodules``; included settings files and hook folders, also those named by the
user's settings and by a repository above; targets of links among these; and lines of an unfinished rebase that run
programs. A repository created by the command keeps its files, but unknown settings and hooks wait for a person. A moved
repository counts as new: one that its owner never used must not end up where they work. For the same reason a new
pointer may only lead to something harmless, or to the repository of its own granted folder.

Nothing is lost: what is removed is first copied out of the command's reach (see ``held_git_files``).

For long-running commands the same is done periodically (``check``), not only at the end. Not covered: scripts that a
hook calls, which are files of the project.

Concurrent changes by others are reverted too, because they cannot be distinguished. If the launcher is killed, nothing
is restored; the command dies with it, and the result says that nothing was checked.
"""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

if __package__:
    from atelier_desk.workspace.processes import (  # fmt: skip
        concurrent_command_baseline,
        git_pointer_files,
        git_referenced_files,
        git_settings_parsing,
        granted_folder_handles,
        held_git_files,
        link_safe_file_trees,
        links_into_repositories,
        repository_scan,
        repository_settings_check,
        repository_state,
    )
    from atelier_desk.workspace.processes.link_safe_file_trees import Budget, Identity, Tree
    from atelier_desk.workspace.processes.repository_state import MOST_BYTES, SETTINGS, Repository
else:
    import concurrent_command_baseline
    import git_pointer_files
    import git_referenced_files
    import git_settings_parsing
    import granted_folder_handles
    import held_git_files
    import link_safe_file_trees
    import links_into_repositories
    import repository_scan
    import repository_settings_check
    import repository_state
    from link_safe_file_trees import Budget, Identity, Tree
    from repository_state import MOST_BYTES, SETTINGS, Repository

MOST_REPOSITORIES = 500
"""Maximum repositories in a workspace; with more, a command is not started."""
MOST_ENTRIES = 2_000_000
"""Maximum files and folders scanned for repositories, about four seconds; with more, a command is not started."""
MOST_CHANGES = 200
"""Maximum held items per command; a running command that makes more is ended."""
_PASSES = 4


class GuardedFiles:
    """The guarded files of some granted folders before a command.

    Args:
        roots: the granted folders, absolute and without links.
        held: where removed items go; created when needed. None leaves them in the workspace under another name.
        may_change: settings, ``.gitmodules``, pointers and new repositories stay as the command leaves them.
        writable: other folders that the command may write, into which links may lead.

    Raises:
        OSError: there are too many, one is too large, or cannot be read.
    """

    def __init__(
        self, roots: Sequence[str], held: str = "", *, may_change: bool = False, writable: Sequence[str] = ()
    ) -> None:
        self._folders = granted_folder_handles.GrantedFolders(roots)
        self._roots = self._folders.roots
        self._may_change = may_change
        self._writable = [path for path in writable if not self._folders.root_of(path)]
        self._baseline = concurrent_command_baseline.Baseline(
            os.path.join(os.path.dirname(held), "running") if held else ""
        )
        self._git = git_settings_parsing.Git(self._roots)
        self._known: dict[Identity, Repository] = {}
        self._pointers: dict[str, tuple[Tree, Identity | None]] = {}
        self._links: dict[str, str] = {}
        self._named = git_referenced_files.NamedFiles(self._git, self._folders)
        self._harmless = repository_settings_check.Harmless(self._git, self._folders.root_of)
        self._refused: set[str] = set()
        """Unchanged pointers that now lead elsewhere."""
        self._holder = held_git_files.Holder(held, self._folders.root_of, self._folders.shown)
        self._continues: Callable[[], bool] | None = None
        self.put_back: set[str] = set()
        self.gone: set[str] = set()
        self.failed: dict[str, str] = {}
        try:
            self._folders.open()
            others = self._baseline.others()
            self._remember()
            for other in others:
                self._adopt(*other)
            known = {who: (each.path, *each.state) for who, each in self._known.items()}
            self._baseline.write(
                (self._roots, known, self._pointers, self._named.trees, self._named.everywhere, self._named.relative)
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._folders.close()
        for repository in self._known.values():
            repository.close()
        self._known = {}
        self._baseline.close()

    def _remember(self) -> None:
        scan = self._scan(most=MOST_ENTRIES)
        for path in scan.unreadable:
            if git_pointer_files.owned(path):
                raise OSError(f"{path} cannot be looked into, so nobody can tell whether there is a repository")
        if len(scan.repositories) + len(scan.pointers) > MOST_REPOSITORIES:
            raise OSError(f"{self._folders.first} holds more than {MOST_REPOSITORIES} repositories")
        if scan.too_many_links:
            raise OSError(f"{self._folders.first} holds more than {repository_scan.MOST_LINKS} links")
        for path in scan.repositories:
            repository = self._folders.within(path, partial(Repository, path))
            if repository is not None:
                self._known[repository.identity] = repository
        self._links = scan.links
        for path in scan.pointers:
            tree = self._folders.tree(path)
            self._pointers[path] = (tree, repository_scan.leads_to(path, ".git"))
            self._named.follow(path, os.path.dirname(path))
            self._named.follow(git_pointer_files.target(path, ".git"), os.path.dirname(path), links=True)
        tops = self._tops(scan)
        for repository in self._known.values():
            self._named.follow(
                git_pointer_files.target(f"{repository.path}/commondir", "commondir"), repository.path, links=True
            )
            for name, tree in repository.trees.items():
                for folder, target in link_safe_file_trees.links(tree, f"{repository.path}/{name}"):
                    self._named.follow(os.path.join(folder, target), repository.path)
                if name in SETTINGS and tree and tree[0] == "file":
                    of = tops.get(repository.identity, [])
                    self._named.settings(f"{repository.path}/{name}", tree[2], of or [repository.path])
        read = {repository.path for repository in self._known.values()}
        for root in self._roots:
            self._named.around(
                root, [top for each in tops.values() for top in each if git_pointer_files.below(top, root)], read
            )
        for top in {top for each in tops.values() for top in each}:
            self._named.follow(f"{top}/.gitmodules", top)

    def _adopt(
        self, roots: list[str], known: dict[Identity, Any], pointers: dict[str, Any], named: dict[str, Any],
        everywhere: list[str],
        relative: list[str],
    ) -> None:  # fmt: skip
        """Adopt the state of a running command's launcher: differences from it may be that command's."""
        for who, repository in list(self._known.items()):
            if who in known:
                path, *state = known[who]
                repository.path = path if self._folders.root_of(path) else repository.path
                repository.adopt(tuple(state))
            elif any(git_pointer_files.below(repository.path, root) for root in roots):
                self._known.pop(who).close()
        for mine, theirs in ((self._pointers, pointers), (self._named.trees, named)):
            for path in [path for path in mine if any(git_pointer_files.below(path, root) for root in roots)]:
                if mine is self._pointers or path in theirs:
                    del mine[path]
            mine.update({path: value for path, value in theirs.items() if self._folders.root_of(path)})
        self._named.everywhere += everywhere
        self._named.relative += relative

    def _scan(self, *, searched: Iterable[Identity] = (), most: int | None = None) -> repository_scan.Scan:
        found = repository_scan.Scan()
        for root in self._roots:
            repository_scan.scan(
                root, self._folders.handles[root], found, searched=frozenset(searched), most=most, go_on=self._continues
            )
        return found

    def _tops(self, scan: repository_scan.Scan) -> dict[Identity, list[str]]:
        """Return the work trees of each repository."""
        found: dict[Identity, list[str]] = {}
        for path, who in scan.repositories.items():
            if os.path.basename(path) == ".git":
                found.setdefault(who, []).append(os.path.dirname(path))
        for path in scan.pointers:
            led = repository_scan.leads_to(path, ".git")
            if led is not None:
                found.setdefault(led, []).append(os.path.dirname(path))
        for who, tops in list(found.items()):
            if who in self._known and (main := self._known[who].linked) is not None:
                found.setdefault(main, []).extend(tops)
        return found

    def restore(self) -> dict[str, Any]:
        """Restore everything; return what was done, by paths relative to the workspace.

        ``put_back`` is as before, which was verified; ``held`` are ``{"path", "file"}`` of removed items, where
        ``file`` is the content; ``gone`` cannot be recreated; ``not_restored`` could not be restored, and git must not
        be run.
        """
        try:
            self._passes()
        finally:
            self.close()
        return self.report()

    def report(self) -> dict[str, Any]:
        """Return what was done so far."""
        return {
            "put_back": sorted(self.put_back.difference(self.failed)),
            "held": self._holder.held,
            "gone": sorted(self.gone),
            "not_restored": [f"{name} ({why})" if why else name for name, why in sorted(self.failed.items())],
        }

    def check(self, go_on: Callable[[], bool]) -> bool:
        """Do the same while the command runs; False if it changed or created so much that it must be ended.

        ``go_on`` is called for every folder visited; once it returns False, the rest is left for the next time.
        """
        self._continues = go_on
        try:
            self._passes()
        except repository_scan.StoppedError:
            pass
        except repository_scan.TooManyError:
            return False
        finally:
            self._continues = None
        return len(self._holder.held) <= MOST_CHANGES

    def _passes(self) -> None:
        try:
            for turn in range(_PASSES):
                self._done: set[str] = set()
                self._pass()
                if not self._done:
                    break
                if turn == _PASSES - 1:
                    self.failed |= {name: "" for name in self._done if name not in self.failed}
        except (repository_scan.StoppedError, repository_scan.TooManyError):
            raise
        except OSError as error:
            self._failed(self._folders.first, error)

    def _pass(self) -> None:
        self.gone = set()
        most = MOST_ENTRIES if self._continues else None
        scan = self._scan(searched=self._known, most=most)
        led = {repository_scan.leads_to(path, ".git") for path in scan.pointers if path not in self._pointers}
        if not led <= {None, *scan.repositories.values()}:
            # While a command runs, a pointer's target may have been created after its place was scanned.
            scan = self._scan(searched=self._known)
        self.failed = {
            self._folders.shown(path): "it cannot be looked into"
            for path in scan.unreadable
            if git_pointer_files.owned(path)
        }
        if self._rename_back(scan):
            scan = self._scan(searched=self._known)
        now = {who: path for path, who in scan.repositories.items()}
        for who, repository in self._known.items():
            if (
                who in now
                and now[who] != repository.path
                and not self._may_change
                and not self._harmless.was(repository, now[who])
            ):
                self._each(now[who], partial(self._new_repository, now[who], scan=scan))
            elif who in now:
                self._each(now[who], partial(self._repository, repository, now[who], scan=scan))
            left = (
                repository.is_main
                and os.path.isdir(os.path.dirname(repository.path))
                and not os.path.lexists(repository.path)
            )
            if left and now.get(who) != repository.path:
                # The folder belongs to no repository any more, or to the enclosing one.
                self.gone.add(self._folders.shown(repository.path))
        for path, (top, tree) in self._named.trees.items():
            if os.path.isdir(top) and not (self._may_change and os.path.basename(path) == ".gitmodules"):
                self._tried(path, partial(self._same, path, tree))
        if not self._may_change:
            for path, who in scan.repositories.items():
                if who not in self._known:
                    self._each(path, partial(self._new_repository, path, scan=scan))
            for path in {*scan.pointers, *self._pointers}:
                self._tried(path, partial(self._pointer, path, scan))
        self._restore_links(scan)

    def _restore_links(self, scan: repository_scan.Scan) -> None:
        """Remove links after which a path leads to a repository that could run a program."""
        if scan.too_many_links:
            self.failed[self._folders.shown(self._folders.first)] = (
                f"it has more than {repository_scan.MOST_LINKS} links"
            )
        entered = [f"{root}/.git" for root in self._roots]
        tops: dict[str, bool] = {}
        found = self._tops(scan)
        for path, who in scan.repositories.items():
            if os.path.basename(path) != ".git":
                # Also for a submodule: git works in such a folder too.
                found[who] = [*found.get(who, ()), path]
        for who, folders in found.items():
            known = self._known.get(who)
            strange = known is not None and known.path not in entered and not self._harmless.was(known, known.path)
            for top in folders:
                tops[top] = tops.get(top, False) or strange
        search = links_into_repositories.Search(
            self._roots,
            self._writable,
            tops,
            [top for top, strange in tops.items() if strange],
            self._harmless.elsewhere,
        )
        for path in search.escaping(self._links, scan.links):
            before = self._links.get(path)
            same = before == scan.links[path]
            self._tried(
                path,
                partial(
                    self._same,
                    path,
                    None if same or before is None else ("link", before),
                    why="changed" if same else "",
                ),
            )

    def _each(self, path: str, act: Callable[[int], object]) -> None:
        """Restore one item; its failure does not affect the others."""
        self._tried(path, partial(self._folders.within, path, act))

    def _tried(self, path: str, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            self._failed(path, error)

    def _rename_back(self, scan: repository_scan.Scan) -> bool:
        """Move repositories back to their ``.git``, where the command left their parent folder."""
        now = {who: path for path, who in scan.repositories.items()}
        for who, repository in self._known.items():
            found, place = now.get(who), repository.path
            if found is None or found == place or not repository.is_main:
                continue
            if os.path.dirname(place) not in self._roots and (self._may_change or os.path.basename(found) == ".git"):
                continue
            if self._folders.shown(place) in self.failed or not self._renamed(found, place):
                continue
            # Everything below has moved too.
            self._rename_back(self._scan(searched=self._known))
            return True
        return False

    def _renamed(self, found: str, place: str) -> bool:
        target, source = self._folders.parent(place), self._folders.parent(found)
        try:
            if target is None or source is None:
                return False
            self._clear(target, place)
            with link_safe_file_trees.writable(source), link_safe_file_trees.writable(target):
                os.rename(os.path.basename(found), ".git", src_dir_fd=source, dst_dir_fd=target)
            self._put(place)
        except OSError as error:
            self._failed(place, error)
            return False
        finally:
            for handle in (target, source):
                if handle is not None:
                    os.close(handle)
        return True

    def _clear(self, folder: int, path: str) -> None:
        """Remove something at a path; a whole repository stays beside it under another name."""
        name = os.path.basename(path)
        info = link_safe_file_trees.found(folder, name)
        if info is not None and stat.S_ISDIR(info.st_mode):
            with link_safe_file_trees.writable(folder):
                os.rename(
                    name, held_git_files.free_name(folder, f"{name}-replaced"), src_dir_fd=folder, dst_dir_fd=folder
                )
        elif info is not None:
            self._holder.hold(folder, name, path, "new")

    def _repository(self, before: Repository, path: str, handle: int, scan: repository_scan.Scan) -> None:
        """Restore a repository that existed before the command, wherever it is now."""
        mode = stat.S_IMODE(before.mode)
        if os.fstat(handle).st_mode & 0o700 != mode & 0o700:
            os.fchmod(handle, mode)
            self._put(path)
        for name, tree in before.trees.items():
            if not (self._may_change and name in SETTINGS):
                self._same_in(handle, name, f"{path}/{name}", tree)
        for name, mode in before.modes.items():
            info = link_safe_file_trees.found(handle, name)
            if info is None:
                if name != "HEAD":
                    self.gone.add(self._folders.shown(f"{path}/{name}"))
            elif (
                stat.S_IFMT(info.st_mode) == stat.S_IFMT(mode) != stat.S_IFLNK and info.st_mode & 0o700 != mode & 0o700
            ):
                link_safe_file_trees.change_mode(handle, name, mode)
                self._put(f"{path}/{name}")
        if repository_state.is_valid(before.head) and not repository_state.is_valid(repository_state.head_of(handle)):
            self._same_in(handle, "HEAD", f"{path}/HEAD", before.head)
        linked = repository_scan.leads_to(f"{path}/commondir", "commondir")
        if linked != before.linked and not self._may_lead(path, linked, scan):
            self._hold_here(handle, "commondir", f"{path}/commondir", "changed")
        self._check_unfinished(handle, path, before.unfinished)

    def _new_repository(self, path: str, handle: int, scan: repository_scan.Scan) -> None:
        """Handle a repository that the command created: whatever could run a program is held."""
        with link_safe_file_trees.writable(handle):
            self._neutralize(path, handle, scan)

    def _neutralize(self, path: str, handle: int, scan: repository_scan.Scan) -> None:
        names = frozenset(os.listdir(handle))
        if os.path.basename(path) != ".git" and "/.git/" not in path and not names <= repository_state.LAYOUT:
            # A folder of a project that was made to look like a repository.
            self._hold_here(handle, "HEAD", f"{path}/HEAD", "new")
            return
        linked = repository_scan.leads_to(f"{path}/commondir", "commondir")
        if "commondir" in names and not self._may_lead(path, linked, scan):
            self._hold_here(handle, "commondir", f"{path}/commondir", "new")
        for name in SETTINGS:
            info = link_safe_file_trees.found(handle, name)
            if info is not None:
                self._new_settings(handle, name, path)
        info = link_safe_file_trees.found(handle, "hooks")
        if info is not None and not self._only_samples(handle, info):
            self._hold_here(handle, "hooks", f"{path}/hooks", "new")
        if os.path.basename(path) == ".git":
            for folder in self._named.everywhere:
                top = os.path.dirname(path)
                hooks = os.path.normpath(os.path.join(top, folder))
                if self._folders.root_of(hooks) and hooks not in self._named.trees and hooks != top:
                    self._same(hooks, None)
        self._check_unfinished(handle, path, frozenset())

    def _only_samples(self, handle: int, info: os.stat_result) -> bool:
        if not stat.S_ISDIR(info.st_mode):
            return False
        inner = link_safe_file_trees.open_folder("hooks", handle)
        try:
            return all(name.endswith(".sample") for name in os.listdir(inner))
        finally:
            os.close(inner)

    def _new_settings(self, handle: int, name: str, path: str) -> None:
        try:
            tree = link_safe_file_trees.read(handle, name, Budget(MOST_BYTES))
        except OSError:
            tree = ("other", 0)
        entries = self._git.of_text(tree[2]) if tree[0] == "file" else None
        if tree[0] == "file" and not tree[2].strip():
            return
        if entries is not None and all(
            git_settings_parsing.harmless(each)
            or self._harmless.own_files(each, path, repository_scan.identity(handle))
            for each in entries
        ):
            return
        self._hold_here(handle, name, f"{path}/{name}", "new")
        if name == "config":
            few = [each for each in entries or () if git_settings_parsing.harmless(each)]
            link_safe_file_trees.write(handle, name, ("file", 0o644, git_settings_parsing.written(few)))

    def _may_lead(self, path: str, who: Identity | None, scan: repository_scan.Scan) -> bool:
        """Whether a new pointer may lead to a repository: its owner already uses it, or it cannot run a program.

        A repository that is also new was already handled.
        """
        place = next((each for each, found in scan.repositories.items() if found == who), "")
        known = self._known.get(who) if who is not None else None
        runs_nothing = known is None or known.path != place or self._harmless.was(known, place)
        return bool(place) and (git_pointer_files.below(place, f"{self._folders.root_of(path)}/.git") or runs_nothing)

    def _pointer(self, path: str, scan: repository_scan.Scan) -> None:
        """Handle a ``.git`` file or link: it must be unchanged, or lead to a checked repository."""
        before, led = self._pointers.get(path, (None, None))
        if before is not None and path not in self._refused:
            if os.path.isdir(os.path.dirname(path)):
                self._same(path, before)
                now = repository_scan.leads_to(path, ".git")
                if now not in (None, led) and not self._may_lead(path, now, scan):
                    self._refused.add(path)
                    self._same(path, None, why="changed")
        elif os.path.lexists(path) and not self._may_lead(path, repository_scan.leads_to(path, ".git"), scan):
            self._same(path, None)
        elif os.path.lexists(path):
            for folder in dict.fromkeys((*self._named.everywhere, *self._named.relative)):
                self._new_hooks(os.path.dirname(path), folder)

    def _new_hooks(self, top: str, folder: str) -> None:
        """Handle a hook folder in a new work tree.

        Only hooks that another of these repositories has identically are allowed.
        """
        folder = os.path.normpath(folder)
        folder = os.path.dirname(folder) if os.path.basename(folder) == "_" and os.path.dirname(folder) else folder
        hooks = os.path.normpath(os.path.join(top, folder))
        for path in (
            [f"{hooks}/{name}" for name in repository_state.HOOKS] if git_pointer_files.below(top, hooks) else [hooks]
        ):
            if not self._folders.root_of(path) or path in self._named.trees:
                continue
            tree, name = self._folders.tree(path), os.path.relpath(path, top)
            known = (
                before
                for place, (of, before) in self._named.trees.items()
                if place == os.path.normpath(os.path.join(of, name))
            )
            if tree is not None and not any(link_safe_file_trees.is_part(tree, each) for each in known):
                self._same(path, None)

    def _same(self, path: str, before: Tree, *, why: str = "") -> None:
        folder = self._folders.parent(path)
        if folder is None and before is None and not os.path.exists(path):
            # No link in place of a parent folder leads to another one either.
            return
        if folder is None:
            folder = self._folders.parent(path, clear=partial(self._holder.hold, why="changed"))
        if folder is None:
            return
        try:
            self._same_in(folder, os.path.basename(path), path, before, why=why)
        finally:
            os.close(folder)

    def _same_in(self, folder: int, name: str, path: str, before: Tree, *, why: str = "") -> None:
        """Restore one name to its recorded tree."""
        try:
            if link_safe_file_trees.read(folder, name, Budget(MOST_BYTES)) == before:
                return
        except OSError:
            pass
        try:
            if before is not None and repository_state.is_repository(folder, name):
                self._clear(folder, path)
            else:
                self._holder.hold(folder, name, path, why or ("new" if before is None else "changed"))
            link_safe_file_trees.write(folder, name, before)
        except OSError as error:
            self._failed(path, error)
        self._put(path)

    def _failed(self, path: str, error: OSError) -> None:
        self.failed[self._folders.shown(path)] = error.strerror or str(error)

    def _hold_here(self, folder: int, name: str, path: str, why: str) -> None:
        try:
            self._holder.hold(folder, name, path, why)
        except OSError as error:
            self._failed(path, error)
        self._put(path, back=False)

    def _put(self, path: str, *, back: bool = True) -> None:
        self._done.add(self._folders.shown(path))
        if back:
            self.put_back.add(self._folders.shown(path))

    def _check_unfinished(self, handle: int, path: str, before: frozenset[bytes]) -> None:
        for name, lines in repository_state.unfinished_in(handle).items():
            if not lines <= before:
                folder = name.partition("/")[0]
                self._hold_here(handle, folder, f"{path}/{folder}", "new")
