"""What argparse says by itself, in the reader's language: its words are looked up in the program's catalogue."""

from __future__ import annotations

import argparse

from atelier_desk.support.i18n import N_, _, ngettext

WORDS = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("one of the arguments %s is required"),
    N_("not allowed with argument %s"),
    N_("unrecognized arguments: %s"),
    N_("expected one argument"),
    N_("ignored explicit argument %r"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""Everything a command line of this program can make argparse say; elsewhere it speaks English."""


def translate() -> None:
    """Let argparse look its words up where everything else is translated. Doing it again changes nothing."""
    for name, function in (("_", _), ("ngettext", ngettext)):
        setattr(argparse, name, function)
