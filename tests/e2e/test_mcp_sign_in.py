"""Signing in to an MCP server in the settings, in both languages: texts before, after, and when more access is
required.
"""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QListWidget

from atelier_desk.domain.mcp import McpServer
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rows
from tests.helpers.servers.mcp_sign_in import Accounts, guarded, signs_in


class Guarded:
    """The server on a thread of its own."""

    def __init__(self) -> None:
        self.accounts = Accounts()
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(self._serve()), name="guarded", daemon=True
        )

    async def _serve(self) -> None:
        async with guarded(self.accounts) as self.url:
            self._ready.set()
            await self._over.wait()

    def __enter__(self) -> Guarded:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        self._loop.close()


class Page:
    """The settings page of MCP servers, with one server."""

    def __init__(self, app: AppDriver, url: str) -> None:
        self.app = app
        app.action("settings")
        window: Any = app.find("settings-window")
        window.resize(1100, 900)
        window.show_page("mcp")
        app.engine(lambda atelier: atelier.mcp.save(McpServer(name="mail", transport="http", url=url), new=True))
        app.settle()
        self.window, self.page = window, window.page("mcp")

    def click_and_read(self, button: str, english: str, french: str, *, note: bool = True) -> None:
        """Click, then read the result in both languages: in the list, complete, and below the form (``note``)."""
        self.app.click(button)
        self.app.settle()
        for action, words in (("language-french", french), ("language-english", english)):
            self.app.action(action)
            self.app.settle()
            assert words in rows(self.app.find("mcp-list", QListWidget))[0]
            assert self.page.form_card.heading.text() == "mail"
            if note:
                assert self.page.busy.text.text() in words
            if folder := os.environ.get("ATELIER_PICTURES"):
                self.window.grab().save(str(Path(folder) / f"{button}-{words[:30]}.png"))


def test_sign_in_states_are_reported_in_both_languages(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = signs_in(monkeypatch)
    with Guarded() as server:
        app = open_app([])
        page, accounts = Page(app, server.url), server.accounts
        required = "sign-in required · The MCP server mail requires you to sign in."
        page.click_and_read(
            "mcp-test", required, "connexion requise · Le serveur MCP mail vous demande de vous connecter."
        )
        page.click_and_read("mcp-sign-in", "running · 1 tool", "en cours · 1 outil", note=False)
        accounts.wants = "files"
        more = (
            "sign-in required · The MCP server mail needs more permissions for this (files). "
            "Sign in again to grant them."
        )
        plus = (
            "connexion requise · Le serveur MCP mail demande des droits supplémentaires (files). Reconnectez-vous "
            "pour les accorder."
        )
        page.click_and_read("mcp-restart", more, plus)
        assert len(opened) == 1
        page.click_and_read("mcp-sign-in", "running · 1 tool", "en cours · 1 outil", note=False)
        assert len(opened) == 3, "once as the client that was not registered for this, once as a new one"
        accounts.access.clear()
        accounts.token_status = 503
        later = (
            "failed · The sign-in service of the MCP server mail cannot be reached at the moment (HTTP 503). "
            "Nothing was lost: try again later."
        )
        tard = (
            "échec · Le service de connexion du serveur MCP mail est injoignable pour le moment (HTTP 503). "
            "Rien n’est perdu\u00a0: réessayez plus tard."
        )
        page.click_and_read("mcp-restart", later, tard)
        accounts.token_status, accounts.deny = 0, True
        app.click("mcp-sign-out")
        app.settle()
        no = "failed · Signing in to the MCP server mail was refused in the browser."
        page.click_and_read(
            "mcp-sign-in", no, "échec · La connexion au serveur MCP mail a été refusée dans le navigateur."
        )
        assert len(opened) == 4
        page.window.close()
