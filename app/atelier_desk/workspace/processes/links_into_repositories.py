# ruff: noqa: PTH112, PTH118, PTH120
"""Links after which a path leads git to another repository than before. A leaf: the launcher loads it as a file.

``mv src old; ln -s vendor/e src`` brings a person who works in ``src`` into the repository of ``vendor/e``, whose
programs they never reviewed. So a new link counts as a new repository: it is held if it leads into, or above, one that
could run a program and is not that of a granted folder.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping

if __package__:
    from atelier_desk.workspace.processes import git_pointer_files, repository_scan
    from atelier_desk.workspace.processes.link_safe_file_trees import FOLDER
else:
    import git_pointer_files
    import repository_scan
    from link_safe_file_trees import FOLDER

MOST_ENTRIES = 200_000
"""Maximum entries scanned where a link leads into a temporary folder; a larger one counts as hostile."""


class Search:
    """Checks links after a command.

    Args:
        roots: the granted folders.
        writable: other writable folders, such as that of temporary files.
        tops: granted subfolders in which git finds a repository; ``strange``: those where it could run a program.
        is_harmless: tells whether the repository in another folder cannot run a program.
    """

    def __init__(
        self,
        roots: Collection[str],
        writable: Collection[str],
        tops: Collection[str],
        strange: Collection[str],
        is_harmless: Callable[[str], bool],
    ) -> None:
        self._roots, self._writable = roots, writable
        self._tops, self._strange = frozenset(tops), frozenset(strange)
        self._is_harmless = is_harmless

    def escaping(self, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
        """Yield the links of ``after`` that must be removed, given the targets ``before`` and ``after`` by path."""
        for path, target in after.items():
            new = before.get(path) != target
            # Content of a temporary folder may have been created after the link.
            if (new or self._leads_out(path, target)) and self._escapes(path, new=new):
                yield path

    def _leads_out(self, path: str, target: str) -> bool:
        resolved = os.path.normpath(os.path.join(os.path.dirname(path), target))
        return not any(git_pointer_files.below(resolved, root) for root in self._roots)

    def _escapes(self, path: str, *, new: bool) -> bool:
        real = os.path.realpath(path)
        if any(git_pointer_files.below(real, root) for root in self._roots):
            # Only new ones: others led there before. Includes links to files or nothing, where a folder may be created
            # later.
            return new and bool(self._strange) and self._into_strange(path, real)
        temporary = any(git_pointer_files.below(real, folder) for folder in self._writable)
        if not (new or temporary) or not os.path.isdir(real):
            return False
        found = self._found_elsewhere(real)
        # A granted folder may be part of a repository, and lead to other parts of it.
        own = not found or found == self._found_elsewhere(os.path.realpath(os.path.dirname(path)))
        return not (own or self._is_harmless(found)) or (temporary and not self._is_harmless_below(real))

    def _into_strange(self, path: str, real: str) -> bool:
        top = self._top_of(real)
        if top in self._strange and top != self._top_of(os.path.realpath(os.path.dirname(path))):
            return True
        return any(each != real and git_pointer_files.below(each, real) for each in self._strange)

    def _top_of(self, folder: str) -> str:
        """Return the folder in which git finds this one's repository; empty if it is in no granted folder."""
        while folder not in self._tops and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return folder if folder in self._tops else ""

    def _found_elsewhere(self, folder: str) -> str:
        """Return the repository that git now finds in a folder; empty if there is none."""
        while True:
            names = frozenset(name for name in repository_scan.MARKS if os.path.lexists(f"{folder}/{name}"))
            if ".git" in names and (led := git_pointer_files.led_to(f"{folder}/.git")):
                return led
            if repository_scan.is_layout(names):
                return folder
            if folder == os.path.dirname(folder):
                return ""
            folder = os.path.dirname(folder)

    def _is_harmless_below(self, folder: str) -> bool:
        found = repository_scan.Scan()
        try:
            handle = os.open(folder, FOLDER)
        except OSError:
            return False
        try:
            repository_scan.scan(folder, handle, found, most=MOST_ENTRIES)
        except OSError:
            return False
        finally:
            os.close(handle)
        led = (git_pointer_files.led_to(path) for path in found.pointers)
        return all(self._is_harmless(path) for path in (*found.repositories, *filter(None, led)))
