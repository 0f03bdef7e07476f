"""Calls in a workflow with a folder."""

from tests.tools.files.conftest import call, files

__all__ = ["call", "files"]
