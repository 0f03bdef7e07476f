"""Options that several commands share."""

from __future__ import annotations

import argparse

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import Parser, names, number, several
from atelier_desk.support.i18n import _

TOOL_MODES = ("direct", "sections", "invoke")
DIALECTS = ("auto", "native", "xml", "guided")
PROFILES = ("plan", "ask", "ask-all", "edit", "free")
FORMER = {"selective": "ask", "manual": "ask-all", "auto": "free"}
"""Other accepted spellings: those of agent files, and of the previous program."""
EFFORTS = ("off", "low", "medium", "high")
ON_APPROVAL = ("ask", "allow", "deny")


def add_agent_options(parser: Parser) -> None:
    """Add the options that choose or define an agent."""
    who = parser.add_argument_group(_("agent"))
    add_model_options(who)
    who.add_argument("--system", metavar="TEXT", help=_("instructions to use instead of the agent's"))
    who.add_argument(
        "--tools", metavar="A,B", type=names, help=_("the tools that the agent may use; an empty list for none")
    )
    who.add_argument(
        "--tool-mode",
        choices=TOOL_MODES,
        help=_("how the model is given its tools: direct (all at once), sections (by section) or invoke (as a list)"),
    )
    who.add_argument(
        "--tool-dialect",
        choices=DIALECTS,
        help=_(
            "how the model writes tool calls: auto (what suits the model), native (native function calling), xml (as "
            "text) or guided (for very small models)"
        ),
    )
    add_profile_option(who)
    who.add_argument("--max-cost", metavar="USD", type=number(float, least=0), help=_("stop at this cost"))
    who.add_argument("--max-tokens", metavar="N", type=number(int, least=1), help=_("stop at this many tokens"))
    who.add_argument("--timeout", metavar="S", type=number(float, least=0.001), help=_("stop after this many seconds"))
    add_people_options(who)
    add_workspace_option(who)


def add_workspace_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--workspace``: folders to grant; read with ``workspace``."""
    several(parser, "--workspace", "DIR", _("a folder the workflow may use (repeatable)"))


def add_schema_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--schema``: the answer schema; read with ``schema_from``."""
    parser.add_argument(
        "--schema", metavar="FILE", help=_("a JSON Schema that the answer must match; - reads standard input")
    )


def add_profile_option(who: argparse._ActionsContainer) -> None:
    """Add ``--approval``: the permission profile by name.

    ``permission_profiles.mode_of`` converts it to the stored value.
    """
    who.add_argument(
        "--profile",
        "--approval",
        dest="approval",
        type=lambda name: FORMER.get(name, name),
        choices=PROFILES,
        help=_(
            "what the agent may do without asking (default: the agent's profile). plan: it can only read; "
            "ask: it asks before changes; ask-all: it asks before every call; edit: it may also change "
            "files in its folders; free: it asks only about protected files, installations, anything "
            "outside the sandbox, repaired arguments and commands of unknown effect"
        ),
    )


def add_model_options(who: argparse._ActionsContainer) -> None:
    """Add the options for choices that a workflow stores until others are made."""
    who.add_argument(
        "--agent",
        metavar="NAME",
        help=_("the agent to use from now on (default: the workflow's, else the default agent)"),
    )
    who.add_argument("--provider", metavar="P", help=_("the provider to use from now on instead of the agent's"))
    who.add_argument("--model", metavar="M", help=_("the model to use from now on instead of the agent's"))
    who.add_argument(
        "--effort", choices=EFFORTS, help=_("how much the model thinks before it answers, if it supports that")
    )


def add_workflow_options(parser: Parser) -> None:
    """Add the options that choose the workflow to continue."""
    which = parser.add_mutually_exclusive_group()
    add_id(which, "--workflow", "workflow", help=_("continue this workflow"))
    which.add_argument(
        "--continue", "-c", action="store_true", dest="latest", help=_("continue the most recent workflow")
    )


def add_people_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that say how questions and approvals are handled during a run."""
    parser.add_argument(
        "--answers", metavar="ask|skip|FILE", default="ask", help=_("how to answer the agents' questions")
    )
    parser.add_argument(
        "--on-approval",
        choices=ON_APPROVAL,
        default="ask",
        help=_("how to handle calls that need approval: ask here, allow or deny all"),
    )


def add_attach_option(parser: argparse.ArgumentParser, *, piped: bool = True) -> None:
    """``piped``: ``-`` reads standard input."""
    words = _(
        "a text file, document or image to attach to the prompt, or a folder of text files (repeatable); - "
        "waits for standard input"
    )
    plain = _("a text file, document or image to attach to the first message, or a folder of text files (repeatable)")
    several(parser, "--attach", "FILE", words if piped else plain)
