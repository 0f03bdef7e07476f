"""Mutation testing: small changes of the program, one at a time, that the tests must notice:

    python packaging/mutants.py [--count 40] [--only TEXT] FILE ...

Each FILE below ``app`` gets ``--count`` mutants, chosen by a hash, so that a change elsewhere in the file leaves the choice as it is.
They are judged by the mirrored test file, by those that carry its name and those that say so, in a copy of the tree. A test file
may explain what survives, with the reason on the next lines:

    # equivalent: file.py function: `before` → `after`     nobody can notice it: it is not run and does not count
    # survives: file.py function: `before` → `after`       known, and counted

Exit status 1: less than 90 % were killed, a survivor is not explained, or an explanation fits no mutant.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
from mutator import mutants_of

ROOT = Path(__file__).resolve().parent.parent
GOAL = 0.9
LEFT_OUT = {"bench", "chaos", "e2e", "fuzz", "slow"}
COPIED = ("app", "tests", "resources", "translations", "packaging", "pyproject.toml", "README.md", "Makefile", "constraints.txt")


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


def passes(copy: Path, tests: list[Path], seconds: float) -> bool:
    """Run tests in the copy; False when one fails, nothing can be collected, or they take longer than ``seconds``.

    The run is a fork, in which all but the app and its tests is imported already, which is most of a short run's time.
    """
    shutil.rmtree(copy.parent / "run", ignore_errors=True)
    (copy.parent / "run").mkdir()
    child = os.fork()
    if child == 0:
        os._exit(_run_tests(copy, [str(path) for path in tests]))
    descriptor = os.pidfd_open(child)
    try:
        ended = bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    for name in (copy.parent / "imported").read_text().split() if ended and status == 0 else ():
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return ended and status == 0


def _run_tests(copy: Path, tests: list[str]) -> int:
    code = 1
    try:
        os.setsid()
        os.chdir(copy)
        output = os.open(copy.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ |= {"PYTHONPATH": str(copy / "app"), "TMPDIR": str(copy.parent / "run")}
        sys.path[:] = [path for path in sys.path if path != str(ROOT / "packaging")]
        code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests])
        # Not those of the standard library: which of them a program imports changes how it works.
        own = sys.stdlib_module_names | {"atelier_desk", "tests", "conftest"}
        names = sorted(name for name in sys.modules if name.split(".")[0] not in own)
        (copy.parent / "imported").write_text("\n".join(names))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    return code


def judge(copy: Path, file: Path, count: int, only: list[str]) -> bool:
    """Make, run and report the mutants of one file; returns whether all is well."""
    tests = judges(file)
    if not tests:
        print(f"{file}: no test file mirrors it, names it or says that it judges it", flush=True)
        return False
    every = mutants_of(ROOT / file)
    equivalent, known = explained(tests, "equivalent"), explained(tests, "survives")
    chosen = [each for each in every[:count] if not only or any(text in each.name for text in only)]
    # The first run imports what all later ones find imported, so the second one says how long they take.
    if not (passes(copy, tests, 900) and (begun := time.monotonic()) and passes(copy, tests, 900)):
        print(f"{file}: its tests fail unchanged\n{(copy.parent / 'output').read_text()[-3000:]}", flush=True)
        return False
    took = time.monotonic() - begun
    print(f"{file}: {len(chosen)} of {len(every)} mutants, {len(tests)} test files, {took:.0f} s unchanged", flush=True)
    killed, survivors = 0, []
    run = [each for each in chosen if each.name not in equivalent]
    for number, mutant in enumerate(run):
        target = copy / file
        target.write_text(mutant.source, "utf-8")
        os.utime(target, (number + 1, number + 1))  # compiled code of another mutant must not be taken for its own
        if passes(copy, tests, 10 + 4 * took):
            survivors.append(mutant)
            mark = "known" if mutant.name in known else "SURVIVED"
            print(f"  {mark} line {mutant.line}: {mutant.name}", flush=True)
        else:
            killed += 1
    shutil.copy2(ROOT / file, copy / file)
    stale = {each for each in equivalent | known if each.startswith(f"{file.name} ")} - {each.name for each in every}
    for name in sorted(stale):
        print(f"  no such mutant: {name}")
    share = killed / len(run) if run else 1.0
    seconds = time.monotonic() - begun
    print(f"  {killed} of {len(run)} killed ({share:.0%}), {len(chosen) - len(run)} equivalent, {seconds:.0f} s", flush=True)
    return share >= GOAL and not stale and all(each.name in known for each in survivors)


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of files of the app.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", action="append", default=[], help="only mutants whose name has this text in it")
    given = parser.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "tree"
        copy.mkdir()
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, copy / name)
        done = [judge(copy, file, given.count, given.only) for file in given.files]
        return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
