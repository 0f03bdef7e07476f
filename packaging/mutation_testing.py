"""Mutation testing: small changes of the program, one at a time, that the tests must notice:

    python packaging/mutation_testing.py [--count 40] [--only TEXT] FILE ...

Each FILE below ``app`` gets ``--count`` mutants, chosen by a hash, so that a change elsewhere in the file leaves the
choice as it is. They are judged by the mirrored test file, by those that carry its name and those that say so
(``# judges: app/…``), in a copy of the tree: by the tests among them that reach the changed line. A test file may
explain what survives, with the reason on the next line:

    # equivalent: file.py function: `before` → `after`     nobody can notice it: it is not run and does not count
    # survives: file.py function: `before` → `after`       known, and counted

Exit status 1: less than 90 % were killed, a survivor is not explained, or an explanation fits no mutant.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import inspect
import os
import pickle
import re
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import pytest
from _pytest.main import pytest_runtestloop
from mutant_generation import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
GOAL = 0.9
LEFT_OUT = {"bench", "chaos", "e2e", "fuzz", "slow"}
COPIED = (
    "app",
    "tests",
    "resources",
    "translations",
    "packaging",
    "docs",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "constraints.txt",
)


def judges(file: Path) -> list[Path]:
    """The test files of a file, the mirrored one first; all relative to the root.

    They mirror it, carry its name below the same folder of ``tests``, or say so: ``# judges: app/atelier_desk/…``.
    """
    inside = file.relative_to("app/atelier_desk")
    mirrored = Path("tests") / inside.with_name(f"test_{file.name}")
    named = re.compile(rf"test_(.*_)?{file.stem}(s|es)?(_.*)?\.py")
    found = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        each, text = path.relative_to(ROOT), path.read_text("utf-8")
        near = each.parts[1] == inside.parts[0] and named.fullmatch(each.name)
        if each.parts[1] not in LEFT_OUT and (near or f"# judges: {file}\n" in text):
            found.append(each)
    return sorted(found, key=lambda path: (path != mirrored, not named.fullmatch(path.name), path))


def explained(tests: list[Path], kind: str) -> set[str]:
    """The names of mutants that test files explain as ``kind``."""
    texts = [(ROOT / path).read_text("utf-8") for path in tests]
    return {name for text in texts for name in re.findall(rf"^# {kind}: (.+)\n#   \S", text, re.MULTILINE)}


def passes(copy: Path, run: Callable[[], int], seconds: float) -> bool:
    """Fork and call ``run`` in the copy; False when its status is not 0, or it takes longer than ``seconds``."""
    shutil.rmtree(copy.parent / "run", ignore_errors=True)
    (copy.parent / "run").mkdir()
    child = os.fork()
    if child == 0:
        os._exit(_in_the_copy(copy, run))
    descriptor = os.pidfd_open(child)
    try:
        ended = bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    return ended and status == 0


def _in_the_copy(copy: Path, run: Callable[[], int]) -> int:
    try:
        os.setsid()
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": str(copy / "app"), "TMPDIR": str(copy.parent / "run")}
        tempfile.tempdir = None
        sys.path[:] = [path for path in sys.path if path != str(ROOT / "packaging")]
        return run()
    except BaseException:
        (copy.parent / "failed").write_text(traceback.format_exc())
        return 1


class Judges:
    """A pytest plugin: collects the tests once, records which lines of the file each of them reaches, and for
    every mutant runs those that reach its line in a fork, the fastest first.

    A mutant of a function is patched into the loaded functions. A mutant of code that runs at import is left to
    ``fresh``.
    """

    def __init__(self, copy: Path, file: Path, mutants: list[Mutant], record: Callable[[Mutant, bool], None]) -> None:
        self.copy, self.file, self.mutants, self.record = copy, file, mutants, record
        self.lines: dict[str, set[int]] = {}
        self.seconds: dict[str, float] = {}
        self.fresh: list[Mutant] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed or not passes(self.copy, lambda: self._trace(session), 1800):
            raise session.Failed
        self.lines, self.seconds = pickle.loads((self.copy.parent / "reached").read_bytes())
        for number, mutant in enumerate(self.mutants):
            _write(self.copy / self.file, mutant.source, number)  # for the programs that tests start
            places = living(self.copy / self.file, (ROOT / self.file).read_text("utf-8"), mutant.source)
            if places is None:
                self.fresh.append(mutant)
                continue
            chosen = [item for item in session.items if mutant.line in self.lines[item.nodeid]]
            if not chosen and "__main__" in mutant.source:  # it runs in a process of its own whose output nobody reads
                chosen = list(session.items)
            chosen.sort(key=lambda item: self.seconds[item.nodeid])
            limit = 20 + 4 * sum(self.seconds[item.nodeid] for item in chosen)
            killed = bool(chosen) and not passes(self.copy, lambda: _mutated(session, chosen, places), limit)  # noqa: B023
            self.record(mutant, killed)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            (self.copy.parent / "failed").write_text(f"{report.nodeid}\n{report.longreprtext}")

    def _trace(self, session: pytest.Session) -> int:
        session.config.pluginmanager.register(Reached(str(self.copy / self.file), self.lines, self.seconds))
        code = _loop(session, list(session.items))
        (self.copy.parent / "reached").write_bytes(pickle.dumps((self.lines, self.seconds)))
        return code


class Reached:
    """A pytest plugin: records for each test which lines of a file it reaches, and how long it takes."""

    def __init__(self, file: str, lines: dict[str, set[int]], seconds: dict[str, float]) -> None:
        self.file, self.lines, self.seconds = file, lines, seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        reached = self.lines[item.nodeid] = set()

        def calls(frame: FrameType, _event: str, _given: object) -> object:
            return lines if frame.f_code.co_filename == self.file else None

        def lines(frame: FrameType, _event: str, _given: object) -> object:
            reached.add(frame.f_lineno)
            return lines

        begun = time.monotonic()
        threading.settrace(calls)
        sys.settrace(calls)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.seconds[item.nodeid] = time.monotonic() - begun


def _loop(session: pytest.Session, items: list[pytest.Item]) -> int:
    session.items[:] = items
    with contextlib.suppress(session.Failed):
        pytest_runtestloop(session)
    return 1 if session.testsfailed else 0


def _mutated(session: pytest.Session, items: list[pytest.Item], places: list[tuple[FunctionType, CodeType]]) -> int:
    for function, code in places:
        function.__code__ = code
    return _loop(session, items)


def living(file: Path, before: str, after: str) -> list[tuple[FunctionType, CodeType]] | None:
    """The loaded functions and their code in the mutant; None when it changes only what runs at import."""
    old, new = (_codes(compile(ast.unparse(ast.parse(text)), file, "exec")) for text in (before, after))
    changed = {name for name in old | new if [*map(_outcome, old.get(name, ()))] != [*map(_outcome, new.get(name, ()))]}
    if any(not code.co_flags & inspect.CO_OPTIMIZED for name in changed for code in old.get(name, ())):
        return None
    found: list[tuple[FunctionType, CodeType]] = []
    every = [each for each in gc.get_objects() if type(each) is FunctionType and each.__code__.co_filename == str(file)]
    for name in {each.partition(".<locals>")[0] for each in changed}:
        alive = [each for each in every if each.__code__.co_qualname == name]
        codes = sorted({each.__code__ for each in alive}, key=lambda code: code.co_firstlineno)
        if len(codes) != len(new.get(name, ())) or not codes:
            return None
        found += [(each, new[name][codes.index(each.__code__)]) for each in alive]
    return found


def _codes(code: CodeType) -> dict[str, list[CodeType]]:
    """All code objects below a module's, by qualified name, in source order."""
    found: dict[str, list[CodeType]] = {code.co_qualname: [code]}
    for each in code.co_consts:
        for name, more in _codes(each).items() if isinstance(each, CodeType) else ():
            found.setdefault(name, []).extend(more)
    return found


def _outcome(code: CodeType) -> tuple[object, ...]:
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _pytest(copy: Path, tests: list[Path], *plugins: object) -> int:
    output = os.open(copy.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    given = [
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        *map(str, tests),
    ]
    return int(pytest.main(given, plugins=list(plugins)))


def _write(target: Path, source: str, number: int) -> None:
    target.write_text(source, "utf-8")
    os.utime(target, (number + 1, number + 1))  # compiled code of another mutant must not be mistaken for its own


def judge(copy: Path, file: Path, count: int, only: list[str]) -> bool:
    """Make, run and report the mutants of one file; returns whether the result is good enough."""
    tests = judges(file)
    if not tests:
        print(f"{file}: no test file mirrors it, names it or says that it judges it", flush=True)
        return False
    every = mutants_of(ROOT / file)
    equivalent, known = explained(tests, "equivalent"), explained(tests, "survives")
    chosen = [each for each in every[:count] if not only or any(text in each.name for text in only)]
    run = [each for each in chosen if each.name not in equivalent]
    print(f"{file}: {len(chosen)} of {len(every)} mutants, {len(tests)} test files", flush=True)
    begun, output = time.monotonic(), os.fdopen(os.dup(1), "w")
    results = copy.parent / "results"
    results.write_text("")

    def record(mutant: Mutant, killed: bool) -> None:
        with results.open("a") as written:
            written.write(f"{int(killed)}{mutant.name}\n")
        if not killed:
            mark = "known" if mutant.name in known else "SURVIVED"
            print(f"  {mark} line {mutant.line}: {mutant.name}", file=output, flush=True)

    def collected() -> int:
        plugin = Judges(copy, file, run, record)
        code = _pytest(copy, tests, plugin)
        (copy.parent / "fresh").write_text("".join(f"{each.name}\n" for each in plugin.fresh))
        (copy.parent / "took").write_text(str(sum(plugin.seconds.values())))
        return code

    if not passes(copy, collected, 36_000):
        texts = [
            (copy.parent / name).read_text()[-3000:] for name in ("output", "failed") if (copy.parent / name).exists()
        ]
        print(f"{file}: its tests fail unchanged\n" + "\n".join(texts), flush=True)
        return False
    at_import = (copy.parent / "fresh").read_text().splitlines()
    limit = 60 + 4 * float((copy.parent / "took").read_text())
    for number, mutant in enumerate([each for each in run if each.name in at_import]):
        _write(copy / file, mutant.source, number)
        record(mutant, not passes(copy, lambda: _pytest(copy, tests), limit))
    judged = results.read_text().splitlines()
    killed = sum(line[0] == "1" for line in judged)
    survivors = {line[1:] for line in judged if line[0] == "0"}
    shutil.copy2(ROOT / file, copy / file)
    stale = {each for each in equivalent | known if each.startswith(f"{file.name} ")} - {each.name for each in every}
    for name in sorted(stale):
        print(f"  no such mutant: {name}")
    share = killed / len(run) if run else 1.0
    seconds = time.monotonic() - begun
    print(
        f"  {killed} of {len(run)} killed ({share:.0%}), {len(chosen) - len(run)} equivalent, {seconds:.0f} s",
        flush=True,
    )
    return share >= GOAL and not stale and survivors <= known


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of files of the app.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", action="append", default=[], help="only mutants whose name has this text in it")
    given = parser.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        Path(folder).chmod(0o755)  # programs of other users are tested too
        copy = Path(folder) / "tree"
        copy.mkdir()
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, copy / name)
        done = [judge(copy, file, given.count, given.only) for file in given.files]
        return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
