"""The grammar of ``atelier projects``."""

from __future__ import annotations

import argparse

from atelier_desk.cli.parser import DATABASE, AddCommands, flag, limit, number, several
from atelier_desk.support.i18n import _

RELATIONS = ("contains", "imports", "calls", "inherits", "mentions", "links_to")
DIRECTIONS = ("out", "in", "both")
KINDS = ("file", "scope", "import", "package", "document", "section", "page", "image")
"""All three as in ``domain.project``, which takes too long to load for a help text."""


def register(add: AddCommands) -> None:
    group = add.group("projects")
    group.command("list", _("list all projects"), needs=DATABASE)
    created = group.command("create", _("create a project for a folder, without indexing it"))
    created.add_argument("name")
    created.add_argument(
        "folder", metavar="DIR", nargs="?", help=_("folder of the project; without one, only web pages can be added")
    )
    _ways(created)
    ingest = group.command("ingest", _("index a folder, or update its index; Ctrl-C pauses"))
    ingest.add_argument("path", help=_("a folder or file; a folder that is in no project becomes a new project"))
    ingest.add_argument("--name", metavar="NAME", help=_("name of the new project"))
    flag(ingest, "--force", _("re-index unchanged files too; if the folder no longer has any files, empty its index"))
    _ways(ingest)
    search = group.command("search", _("search code and text by keywords and meaning"))
    search.add_argument("query", metavar="TEXT")
    several(search, "--project", "NAME", _("only in this project (repeatable)"))
    search.add_argument(
        "--kind", choices=KINDS, action="append", default=[], help=_("only results of this kind (repeatable)")
    )
    limit(search, 10, _("maximum number of results (default: 10)"))
    search.add_argument(
        "--threshold", metavar="X", type=number(float, least=0), default=0.0, help=_("minimum relevance, 0 to 1")
    )
    explore = group.command("explore", _("show what calls, imports or contains an entity"))
    explore.add_argument("entity", help=_("the id of a result, or a name"))
    explore.add_argument(
        "--relation", choices=RELATIONS, action="append", default=[], help=_("follow only this relation (repeatable)")
    )
    explore.add_argument(
        "--direction",
        choices=DIRECTIONS,
        default="both",
        help=_("out: what the entity calls; in: what calls the entity"),
    )
    explore.add_argument(
        "--depth",
        metavar="N",
        type=number(int, least=1),
        default=1,
        help=_("maximum distance in relations, from 1 to 5 (default: 1)"),
    )
    limit(explore, 50, _("maximum number of results (default: 50)"))
    show = group.command("show", _("show a project and its contents, or the text of an entity"))
    show.add_argument("what", metavar="NAME|ID")
    allow = group.command("allow", _("index a file or folder that was left out because it looks like a secret"))
    allow.add_argument("path")
    flag(allow, "--undo", _("exclude the file or folder again and remove it from the index"))
    forget = group.command("forget", _("remove a file or folder from the index; the files are kept"))
    forget.add_argument("path")
    group.command("offers", _("list the workspace folders that could become projects"))
    answer = group.command("answer", _("choose whether a workspace folder becomes a project"))
    answer.add_argument("folder", metavar="DIR")
    answer.add_argument("said", choices=("yes", "no"))
    for name, text in (
        ("delete", _("delete a project; its folder is not changed")),
        ("pause", _("pause indexing a project")),
    ):
        group.command(name, text).add_argument("name")


def _ways(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--no-vectors", _("search by keywords only"))
    flag(parser, "--no-watch", _("do not re-index changed files automatically"))
