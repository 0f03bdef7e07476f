"""Code parsing: do our grammars find what the languages' own parsers find, are calls resolved correctly, at what cost.

Python is compared with ``ast``: definitions (name, first and last line, nesting), docstrings, imports. Calls are
compared with those that really happened: the package's tests run under ``sys.setprofile``, and each call from one
function of the package to another is a fact. Only facts count whose line has a call expression with the callee's name
(or that of its class, for ``__init__``); calls by operators, properties, ``with`` and under another name (callbacks)
are not named in source code and are counted apart. A call is resolved if a relation leads from the caller to the callee
or to the method of a base class that it overrides, which is what the source names. Precision: of the relations with at
least .8 for a name that was seen called in a function, the share that was seen.

JavaScript is compared with acorn (``--acorn FOLDER`` with it in ``node_modules``), other languages with Universal Ctags
if installed: its parsers are approximate themselves (it omits Go's types inside functions); ``--differences`` lists
what differs.

Run: ``python -m tests.bench.bench_code_parsing_accuracy [--quick] [--json FILE] [--checkout FOLDER …]``; checkouts are
only read, unless given with ``--traced FOLDER:PACKAGE:TESTS``, which runs them.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atelier_desk.domain.document_formats import DOCUMENTS
from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.knowledge.parsing.parse import ParseError, language_of, parse
from atelier_desk.knowledge.parsing.parsed_file import Parsed
from atelier_desk.knowledge.parsing.relation_resolution import Resolver
from atelier_desk.knowledge.parsing.symbols import symbols

REPOSITORY = Path(__file__).resolve().parents[2]
LEFT_OUT = {".git", ".venv", "node_modules", "out", "dist", "build", "__pycache__", ".venv-peers", "vendor"}
CTAGS = {
    "go": ("Go", {"func": "function", "struct": "struct", "interface": "interface"}),
    "rust": (
        "Rust",
        {
            "function": "function",
            "method": "function",
            "struct": "struct",
            "enum": "enum",
            "interface": "trait",
            "macro": "macro",
        },
    ),
    "ruby": ("Ruby", {"method": "function", "singletonMethod": "function", "class": "class", "module": "module"}),
    "java": ("Java", {"class": "class", "interface": "interface", "enum": "enum", "method": "function"}),
    "c": ("C", {"function": "function", "struct": "struct", "enum": "enum"}),
    "php": ("PHP", {"class": "class", "interface": "interface", "trait": "trait", "function": "function"}),
}


def files_of(root: Path, *extensions: str) -> dict[str, bytes]:
    found = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if (
            path.is_file()
            and not LEFT_OUT.intersection(relative.parts)
            and (not extensions or path.suffix in extensions)
        ):
            found[relative.as_posix()] = path.read_bytes()
    return found


def read(files: dict[str, bytes]) -> dict[str, Parsed]:
    found = {}
    for path, data in files.items():
        if language_of(path, data[:8_192]) not in {None, *DOCUMENTS}:
            try:
                found[path] = parse(path, data)
            except ParseError:
                continue
    return found


class Definitions(ast.NodeVisitor):
    """The definitions and imports that ``ast`` finds in a file."""

    def __init__(self) -> None:
        self.scopes: set[tuple[str, str, int, int]] = set()
        self.docstrings: dict[tuple[str, int], str] = {}
        self.imports: set[tuple[str, str, str, int]] = set()
        self.starts: dict[int, tuple[str, int, int]] = {}
        self._around: list[str] = []

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._around.append(node.name)
        name = ".".join(self._around)
        self.scopes.add(
            (name, "class" if isinstance(node, ast.ClassDef) else "function", node.lineno, node.end_lineno or 0)
        )
        self.docstrings[name, node.lineno] = (ast.get_docstring(node) or "").strip()[:4_000]
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self.starts[first] = (name, node.lineno, node.end_lineno or 0)
        self.generic_visit(node)
        self._around.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition

    def visit_Import(self, node: ast.Import) -> None:
        self.imports |= {(each.name, "", each.asname or each.name.split(".")[0], node.lineno) for each in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        self.imports |= {
            (module, each.name, "" if each.name == "*" else each.asname or each.name, node.lineno)
            for each in node.names
        }


def against_ast(files: dict[str, bytes], parsed: dict[str, Parsed]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for path, data in files.items():
        if path not in parsed or parsed[path].language != "python":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(data)
        except (SyntaxError, ValueError):
            continue
        truth = Definitions()
        truth.visit(tree)
        plain = {
            (
                _unnumbered(scope.qualified),
                "class" if scope.type == "class" else "function",
                scope.start_line,
                scope.end_line,
            ): scope
            for scope in parsed[path].scopes
            if scope.type in {"class", "function", "method"}
        }
        counts["files"] += 1
        counts["scopes"] += len(truth.scopes)
        counts["our scopes"] += len(plain)
        counts["same scopes"] += len(truth.scopes & set(plain))
        for (name, _type, start, _end), scope in plain.items():
            docstring = truth.docstrings.get((name, start))
            if docstring:
                counts["docstrings"] += 1
                counts["same docstrings"] += docstring == scope.docstring
        imports = {(each.module, each.name, each.alias, each.line) for each in parsed[path].imports}
        counts["imports"] += len(truth.imports)
        counts["our imports"] += len(imports)
        counts["same imports"] += len(truth.imports & imports)
    return {
        "files": counts["files"],
        "scopes": counts["scopes"],
        "scope_recall": share(counts["same scopes"], counts["scopes"]),
        "scope_precision": share(counts["same scopes"], counts["our scopes"]),
        "docstrings": share(counts["same docstrings"], counts["docstrings"]),
        "imports": counts["imports"],
        "import_recall": share(counts["same imports"], counts["imports"]),
        "import_precision": share(counts["same imports"], counts["our imports"]),
    }


def _unnumbered(qualified: str) -> str:
    """The name without numbers: repeated definitions are numbered, also within the names below them."""
    return ".".join(part.split("#")[0] for part in qualified.split("."))


def trace(root: Path, package: str, tests: str) -> list[tuple[str, int, str, int, str]]:
    """Calls inside a package while its tests run; tests that lack a module count up to that point."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "calls.json"
        environment = {**os.environ, "TRACED_FOLDER": str(root / package) + os.sep, "TRACED_CALLS": str(out)}
        paths = [
            str(root),
            str(root / "src"),
            str(root / "app"),
            str(Path(__file__).parent),
            environment.get("PYTHONPATH", ""),
        ]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        order = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "call_tracing",
            "-p",
            "no:cacheprovider",
            "-n0",
            "--continue-on-collection-errors",
            # another repository's configuration requires plugins and modules that may be absent
            *([] if root == REPOSITORY else ["-c", os.devnull, f"--rootdir={root}", "-o", "asyncio_mode=auto"]),
            *tests.split(","),
        ]
        subprocess.run(
            order,
            cwd=root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=1_800,
        )
        return [tuple(each) for each in json.loads(out.read_text())] if out.exists() else []


class Calls(ast.NodeVisitor):
    """Where a file calls something by a name: the lines of the expression."""

    def __init__(self) -> None:
        self.lines: dict[int, set[str]] = defaultdict(set)

    def visit_Call(self, node: ast.Call) -> None:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            self.lines[line].add(name)
        self.generic_visit(node)


def against_run(root: Path, package: str, tests: str, differences: bool) -> dict[str, Any]:
    files = files_of(root / package, ".py")
    parsed = read({f"{package}/{path}": data for path, data in files.items()})
    resolver = Resolver(symbols(path, each) for path, each in parsed.items())
    relations: dict[tuple[str, int], dict[tuple[str, int], float]] = defaultdict(dict)
    for each in resolver.resolution().relations:
        if each.kind == "calls" and not each.package:
            relations[each.source_path, each.source_index][each.target_path, each.target_index] = each.confidence
    starts: dict[str, dict[int, int]] = {}
    spans: dict[str, list[tuple[int, int, int]]] = {}
    named: dict[str, dict[int, set[str]]] = {}
    for path, data in files.items():
        full = f"{package}/{path}"
        tree = ast.parse(data)
        truth, calls = Definitions(), Calls()
        truth.visit(tree)
        calls.visit(tree)
        named[full] = calls.lines
        by_line = {
            scope.start_line: index
            for index, scope in enumerate(parsed[full].scopes)
            if scope.type in {"class", "function", "method"}
        }
        starts[full] = {first: by_line[line] for first, (_name, line, _end) in truth.starts.items() if line in by_line}
        spans[full] = [(scope.start_line, scope.end_line, index) for index, scope in enumerate(parsed[full].scopes)]
    seen: dict[tuple[str, int, str], set[tuple[str, int]]] = defaultdict(set)
    other = 0
    for caller, line, callee, first, name in trace(root, package, tests):
        source, target = (Path(each).relative_to(root).as_posix() for each in (caller, callee))
        index = starts.get(target, {}).get(first)
        if source not in spans or index is None:
            continue
        scope = parsed[target].scopes[index]
        above = parsed[target].scopes[scope.parent].name if scope.parent >= 0 else ""
        called = above if name in {"__init__", "__new__", "__post_init__"} else name
        if called not in named[source].get(line, ()) and not (
            called == above and {"cls", "super", "__init__"} & named[source].get(line, set())
        ):
            other += 1
            continue
        around = max((each for each in spans[source] if each[0] <= line <= each[1]), default=(0, 0, -1))
        seen[source, around[2], called].add((target, index))
    evaluator = resolver._evaluator
    resolved = total = right = related = exact = 0
    missed: Counter[str] = Counter()
    for (source, at, called), targets in seen.items():
        ours = relations.get((source, at), {})
        possible = set()
        for path, index in targets:
            scope = parsed[path].scopes[index]
            targets_of_call = {(path, index)}
            if scope.parent >= 0:
                if scope.name in {"__init__", "__new__", "__post_init__"}:
                    targets_of_call.add((path, scope.parent))
                    targets_of_call |= {
                        key
                        for key in ours
                        if (path, scope.parent) in {(each.path, each.scope) for each in evaluator.line(*key)}
                    }
                for base in evaluator.line(path, scope.parent):
                    inside = evaluator.tables(base.path).children.get(base.scope, {}).get(scope.name)
                    if inside is not None:
                        targets_of_call.add((base.path, inside))
            total += 1
            exact += (path, index) in ours or (scope.name == "__init__" and (path, scope.parent) in ours)
            found = targets_of_call & set(ours)
            resolved += bool(found)
            possible |= targets_of_call
            if not found:
                missed[
                    f"{source}:{parsed[source].scopes[at].qualified if at >= 0 else ''} -> {path}:{scope.qualified}"
                ] += 1
        for (path, index), sure in ours.items():
            if sure >= 0.8 and parsed[path].scopes[index].name == called:
                related += 1
                right += (path, index) in possible
    if differences:
        for call in sorted(missed):
            print("  not resolved:", call)
    return {"package": str(package), "calls": total, "resolved": share(resolved, total),
    "to_the_very_method": share(exact, total),
            "precision": share(right, related), "calls_without_a_name": other}  # fmt: skip


ACORN = """
const acorn = require('acorn'); const fs = require('fs'); const out = {};
for (const file of JSON.parse(fs.readFileSync(0, 'utf8'))) {
  let tree; const text = fs.readFileSync(file, 'utf8');
  const options = {ecmaVersion: 'latest', locations: true, allowHashBang: true, allowReturnOutsideFunction: true};
  try { tree = acorn.parse(text, {...options, sourceType: 'module'}); }
  catch (e) { try { tree = acorn.parse(text, {...options, sourceType: 'script'}); } catch (e2) { continue; } }
  const found = {scopes: [], imports: []};
  const last = (n) => n.type === 'Identifier' ? n.name
    : n.type === 'MemberExpression' && !n.computed ? n.property.name : '';
  const plain = (n) => n.type === 'Identifier' || n.type === 'ThisExpression';
  const whole = (n) => plain(n) || (n.type === 'MemberExpression' && !n.computed && whole(n.object));
  const isF = (n) => n && (n.type === 'FunctionExpression' || n.type === 'ArrowFunctionExpression');
  const stack = [tree];
  while (stack.length) {
    const n = stack.pop();
    const add = (name, kind, at) => { if (name) found.scopes.push([name, kind, at.loc.start.line, at.loc.end.line]); };
    if (n.type === 'FunctionDeclaration') add(n.id && n.id.name, 'function', n);
    if (n.type === 'ClassDeclaration') add(n.id && n.id.name, 'class', n);
    if (n.type === 'MethodDefinition' && !n.computed) add(n.key.name || n.key.value, 'function', n);
    if (n.type === 'PropertyDefinition' && isF(n.value) && !n.computed) add(n.key.name, 'function', n);
    if (n.type === 'VariableDeclarator' && n.id.type === 'Identifier' && isF(n.init)) add(n.id.name, 'function', n);
    if (n.type === 'AssignmentExpression' && isF(n.right) && whole(n.left) && last(n.left) !== 'exports')
      add(last(n.left), 'function', n);
    if (n.type === 'Property' && !n.computed && n.key.type === 'Identifier' && isF(n.value))
      add(n.key.name, 'function', n);
    if (n.type === 'ImportDeclaration'
        || ((n.type === 'ExportNamedDeclaration' || n.type === 'ExportAllDeclaration') && n.source))
      found.imports.push([n.source.value, n.loc.start.line]);
    if (n.type === 'CallExpression' && n.callee.name === 'require' && n.arguments.length === 1
        && typeof n.arguments[0].value === 'string')
      found.imports.push([n.arguments[0].value, n.arguments[0].loc.start.line]);
    for (const key of Object.keys(n)) {
      const v = n[key];
      if (v && typeof v.type === 'string') stack.push(v);
      else if (Array.isArray(v)) for (const w of v) if (w && typeof w.type === 'string') stack.push(w);
    }
  }
  out[file] = found;
}
process.stdout.write(JSON.stringify(out));
"""


def against_acorn(root: Path, acorn: Path, differences: bool) -> dict[str, Any]:
    files = files_of(root, ".js", ".mjs", ".cjs")
    parsed = read(files)
    order = json.dumps([str(root / path) for path in files])
    out = subprocess.run(
        ["node", "-e", ACORN], input=order, capture_output=True, text=True, cwd=acorn, check=True
    ).stdout
    scopes: Counter[str] = Counter()
    imports: Counter[str] = Counter()
    for full, truth in json.loads(out).items():
        path = Path(full).relative_to(root).as_posix()
        ours = {
            (scope.name, "class" if scope.type == "class" else "function", scope.start_line, scope.end_line)
            for scope in parsed[path].scopes
            if scope.type in {"class", "function", "method"}
        }
        compare(scopes, {tuple(each) for each in truth["scopes"]}, ours, path if differences else "")
        ours_imported = {(each.module, each.line) for each in parsed[path].imports}
        compare(imports, {tuple(each) for each in truth["imports"]}, ours_imported, path if differences else "")
    return {"truth": "acorn", **shares("scope", scopes), **shares("import", imports)}


def against_ctags(root: Path, language: str, differences: bool) -> dict[str, Any] | None:
    name, kinds = CTAGS[language]
    parsed = {path: each for path, each in read(files_of(root)).items() if each.language == language}
    if not parsed:
        return None
    order = [
        "ctags",
        "--output-format=json",
        "--fields=+neK",
        f"--languages={name}",
        "-L",
        "-",
        "-o",
        "-",
        "--extras=-F",
    ]
    out = subprocess.run(order, input="\n".join(parsed), capture_output=True, text=True, cwd=root, check=True).stdout
    truth: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for line in out.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and tag["kind"] in kinds and not tag["name"].startswith("__anon"):
            truth[tag["path"]].add((tag["name"].rpartition("::")[2], kinds[tag["kind"]], tag["line"]))
    counts: Counter[str] = Counter()
    selected = set(kinds.values())
    for path, each in parsed.items():
        ours = set()
        for scope in each.scopes:
            kind = "function" if scope.type == "method" else scope.type
            inside = scope.parent >= 0 and each.scopes[scope.parent].type == "interface"
            if kind in selected and not (language == "go" and inside):
                ours.add((scope.name, kind, _named_at(root, path, scope.start_line, scope.name)))
        compare(counts, truth[path], ours, path if differences else "")
    return {"truth": "ctags", "files": len(parsed), **shares("scope", counts)}


_text: dict[Path, list[str]] = {}


def _named_at(root: Path, path: str, line: int, name: str) -> int:
    """The line of the name, as ctags reports it; a scope begins with its attributes and return type."""
    if root / path not in _text:
        _text[root / path] = (root / path).read_text("utf-8", "replace").splitlines()
    lines = _text[root / path]
    return next((at for at in range(line, min(line + 8, len(lines) + 1)) if name in lines[at - 1]), line)


def compare(counts: Counter[str], truth: set[Any], ours: set[Any], label: str) -> None:
    counts["truth"] += len(truth)
    counts["ours"] += len(ours)
    counts["same"] += len(truth & ours)
    if label:
        for each in sorted(truth - ours, key=str):
            print(f"  missing {label}: {each}")
        for each in sorted(ours - truth, key=str):
            print(f"  ours alone {label}: {each}")


def shares(what: str, counts: Counter[str]) -> dict[str, Any]:
    return {
        f"{what}s": counts["truth"],
        f"{what}_recall": share(counts["same"], counts["truth"]),
        f"{what}_precision": share(counts["same"], counts["ours"]),
    }


def costs(files: dict[str, bytes], times: int) -> Iterator[dict[str, Any]]:
    """For each language, reading its files against the bare tree: the best of several rounds, in seconds of processor
    time because the machine is shared.
    """
    by_language: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for path, data in files.items():
        language = language_of(path, data[:8_192])
        if language in registry.grammars():
            by_language[language].append((path, data))
    for language, each in sorted(by_language.items()):
        parser, _query = registry.loaded(language)
        bare, ours, small = [], [], []
        for _round in range(times):
            gc.collect()
            began_at = time.process_time()
            for _path, data in each:
                parser.parse(data)
            bare.append(time.process_time() - began_at)
            began_at = time.process_time()
            found = [(path, parse(path, data)) for path, data in each]
            ours.append(time.process_time() - began_at)
            began_at = time.process_time()
            for path, parsed in found:
                symbols(path, parsed)
            small.append(time.process_time() - began_at)
        size = sum(len(data) for _path, data in each)
        yield {
            "language": language, "files": len(each), "bytes": size, "bare_s": round(min(bare), 4),
            "parse_s": round(min(ours), 4),
            "symbols_s": round(min(small), 4), "ratio": round(min(ours) / min(bare), 2),
            "mb_per_s": round(size / 1e6 / min(ours), 2),
        }  # fmt: skip


def resolving(files: dict[str, bytes]) -> dict[str, Any]:
    known = [symbols(path, each) for path, each in read(files).items()]
    began_at = time.process_time()
    resolver = Resolver(known)
    relations = sum(1 for _each in resolver.resolution().relations)
    elapsed = time.process_time() - began_at
    one = []
    for file in known[:: max(1, len(known) // 20)]:
        began_at = time.process_time()
        resolver.update(file)
        for _each in resolver.resolution().relations:
            pass
        one.append(time.process_time() - began_at)
    return {"files": len(known), "symbols": sum(len(each.symbols) for each in known), "relations": relations,
    "seconds": round(elapsed, 3),
            "one_file_ms": round(statistics.median(one) * 1000, 1),
            "one_file_worst_ms": round(max(one) * 1000, 1)}  # fmt: skip


def share(part: int, total: int) -> float | None:
    return round(part / total, 4) if total else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a part of this repository, one round")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--checkout",
        type=Path,
        action="append",
        default=[],
        help="another repository to read; may be given several times",
    )
    parser.add_argument(
        "--traced",
        action="append",
        default=[],
        metavar="FOLDER:PACKAGE:TESTS",
        help="a checkout whose tests are run for its calls",
    )
    parser.add_argument("--acorn", type=Path, help="a folder that has acorn in node_modules")
    parser.add_argument("--differences", action="store_true", help="name what differs")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []

    def row(what: str, where: str, figures: dict[str, Any] | None) -> None:
        if figures is not None:
            print(
                f"{what:<22} {where:<24} " + "  ".join(f"{name} {value}" for name, value in figures.items()), flush=True
            )
            rows.append({"what": what, "where": where, **figures})

    app = REPOSITORY / "app" / "atelier_desk"
    ours = files_of(
        app / "knowledge" if arguments.quick else REPOSITORY,
        *((".py",) if arguments.quick else (".py", ".md", ".html", ".css", ".js", ".sh")),
    )
    row("scopes, imports", "this repository", against_ast(ours, read(ours)))
    tests = "tests/knowledge/test_bm25_ranking.py,tests/knowledge/parsing/languages/test_python.py"
    if not arguments.quick:
        tests = "tests/knowledge,tests/policy,tests/domain"
    row("calls", "this repository", against_run(REPOSITORY, "app/atelier_desk", tests, arguments.differences))
    for root in arguments.checkout:
        files = files_of(root)
        if any(path.endswith(".py") for path in files):
            row("scopes, imports", root.name, against_ast(files, read(files)))
        if arguments.acorn and any(path.endswith(".js") for path in files):
            row("javascript", root.name, against_acorn(root, arguments.acorn, arguments.differences))
        if shutil.which("ctags"):
            for language in CTAGS:
                row(language, root.name, against_ctags(root, language, arguments.differences))
    for traced in arguments.traced:
        folder, package, tests = traced.split(":")
        row("calls", Path(folder).name, against_run(Path(folder), package, tests, arguments.differences))
    for root, files in [("this repository", ours), *((root.name, files_of(root)) for root in arguments.checkout)]:
        for figures in costs(files, 1 if arguments.quick else 3):
            row("cost", root, figures)
        row("relations", root, resolving(files))
    if arguments.json:
        arguments.json.write_text(json.dumps({"bench": "parsing", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
