"""Translations of argparse's own messages."""

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
"""Every message argparse can print here; in other programs it stays English."""


def translate() -> None:
    """Make argparse use the program's catalogue. Can be called more than once."""
    for name, function in (("_", _), ("ngettext", ngettext)):
        setattr(argparse, name, function)
