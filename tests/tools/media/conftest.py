"""Calls in a workflow with a folder."""

from tests.tools.files.conftest import call, files, ws

__all__ = ["call", "files", "ws"]
