"""Settings of the program, stored as rows of key and JSON value: names, defaults and limits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from atelier_desk.domain import limits
from atelier_desk.domain.address_scheme import with_scheme
from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.base_model import Model
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.support.i18n import LANGUAGES, N_

ActionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
Keys = Annotated[
    str,
    Field(pattern=r"^(((Ctrl|Alt|Shift|Meta)\+){0,4}(F([1-9]|[12]\d|3[0-5])|[A-Z][A-Za-z]{1,15}|[A-Z]|[^\sA-Za-z]))?$"),
]
"""A key with modifiers in Qt's language-independent form: ``Ctrl+Shift+F``, ``F5``; empty for none."""


def _spoken(code: str) -> str:
    if code != "system" and code not in LANGUAGES:
        raise ValueError(N_("choose “system” or one of the program's languages"))
    return code


Language = Annotated[str, AfterValidator(_spoken)]
"""``system``, or the code of a language that there is a catalogue for."""


class EmbedderSettings(Model):
    """Which embedder creates vectors for memories.

    ``kind`` is ``builtin``, ``sentence-transformers``, a kind of provider, or ``none`` for full text only.
    """

    kind: str = Field(default="builtin", pattern=r"^[a-z][a-z0-9-]{0,31}$")
    provider: str = ""
    model: str = ""
    dimension: int | None = Field(default=None, ge=1, le=8192)


def _with_host(text: str) -> str:
    """Refuse an address without a host or with an invalid port."""
    parts = urlsplit(text)
    if text and (not parts.hostname or parts.port == 0):  # accessing a port over 65535 raises
        raise ValueError(N_("an address needs a host and a port from 1 to 65535"))
    return text


ADDRESS = r"^(https?://[^\s@/?#]+(/[^\s?#]*)?)?$"
NO_OR_VARIABLE = r"^([A-Za-z_][A-Za-z0-9_]*)?$"
PROVIDER_AND_MODEL = r"^([^/\s][^/]*/\S.*)?$"
MOST_FORMER_NAMES = 200
MOST_PRICE = 1_000.0
"""US dollars for one picture, model or search."""
Url = Annotated[str, BeforeValidator(with_scheme), Field(max_length=2_000, pattern=ADDRESS), AfterValidator(_with_host)]
"""Address of a server, without user, password and query; empty for the default."""
Variable = Annotated[str, Field(max_length=128, pattern=NO_OR_VARIABLE)]
"""Name of an environment variable; empty for none."""


class WebSettings(Model):
    """Web search.

    Attributes:
        search: the service; ``ddgs`` uses public search pages and needs no key, ``off`` disables searching.
        address: of a SearXNG server, or of a server compatible with the service.
        key_env: variable with the key; empty for one in the keyring.
        price: US dollars for a search; None where the person does not know.
        scripts: JavaScript pages are rendered by an installed browser (``auto``), or read without (``off``).
        browser: program of that browser; empty uses the first found.
    """

    search: Literal["ddgs", "searxng", "brave", "tavily", "off"] = "ddgs"
    address: Url = ""
    key_env: Variable = ""
    price: float | None = Field(default=None, ge=0, le=MOST_PRICE)
    scripts: Literal["auto", "off"] = "auto"
    browser: str = Field(default="", max_length=1_000)


class MediaSettings(Model):
    """Who makes pictures and 3D models, and who describes pictures. Empty addresses of 3D services mean their own.

    Attributes:
        sees: the model that describes pictures, ``provider/model``; empty for none.
        images: the address of an images endpoint in OpenAI's form (``https://api.openai.com/v1``); empty for none.
        images_model: as that server calls it.
        models: the service for 3D models.
        images_key_env, models_key_env: the variables with the keys; empty for keys in the keyring.
        images_price, models_price: US dollars for a picture and for a 3D model; None where the person does not know.
    """

    sees: str = Field(default="", max_length=600, pattern=PROVIDER_AND_MODEL)
    images: Url = ""
    images_model: str = Field(default="", max_length=512)
    images_key_env: Variable = ""
    models: Literal["off", "tripo", "meshy"] = "off"
    models_address: Url = ""
    models_key_env: Variable = ""
    images_price: float | None = Field(default=None, ge=0, le=MOST_PRICE)
    models_price: float | None = Field(default=None, ge=0, le=MOST_PRICE)


class Settings(Model):
    """All settings. ``language`` and ``theme``: ``system`` follows the desktop; ``font_scale`` is in percent."""

    language: Language = "system"
    theme: Literal["system", "light", "dark"] = "system"
    font_scale: int = Field(default=100, ge=80, le=200)
    notifications: bool = True
    tray: bool = True
    """Icon in the desktop's notification area, if there is one."""
    quick_key_on: bool = False
    """Register ``quick_key`` system-wide, where supported; it opens quick ask."""
    quick_key: Keys = "Ctrl+Alt+Space"
    notification_answers: bool = True
    """Buttons and a reply field in desktop notifications, where supported."""
    remind_minutes: int = Field(default=10, ge=0, le=240)
    """Minutes after which the desktop notifies again about things that wait for a person; 0: only once."""
    first_start_done: bool = False
    default_agent_id: str = ""
    name_by_model: bool = True
    """Ask the model for a workflow's title after its first answer.

    Otherwise the first message's words are the title.
    """
    monthly_cost_limit: float = Field(default=0, ge=0, le=1_000_000)
    """Maximum US dollars for all requests in a calendar month; 0: no limit."""
    monthly_warned: str = Field(default="", max_length=7)
    """Month in which the person was warned that most of it is used: ``2026-11``."""
    monthly_unpriced: str = Field(default="", max_length=7)
    """The month in which requests whose price is not known are sent although there is a monthly limit."""
    stop_repetition: bool = True
    """Stop replies that repeat the same passage."""
    workflows_running: int = Field(default=limits.WORKFLOWS_RUNNING, ge=1, le=32)
    inactivity_s: int = Field(default=limits.INACTIVITY_S, ge=limits.INACTIVITY[0], le=limits.INACTIVITY[1])
    """Seconds of inactivity after which a model's reply, or a sub-agent, is ended."""
    embedder: EmbedderSettings = EmbedderSettings()
    embedder_before: EmbedderSettings | None = None
    """The embedder that searches still use while the vectors of ``embedder`` are made; None once complete."""
    embedder_paused: bool = False
    """Embedding is paused until a person resumes it."""
    memories_off: tuple[str, ...] = Field(default=(), max_length=10_000)
    """Ids of the workflows whose agents neither save nor are given memories."""
    memories_ask: bool = True
    """What an agent wants remembered for all workflows applies to its own only until a person approves it on a card."""
    memories_at_end: Literal["off", "told", "always"] = "told"
    """Ask the model after an answer what of the turn to remember, as proposals.

    Never, when the person told something about themselves (in English or French), or always.
    """
    memories_pinned: tuple[str, ...] = Field(default=(), max_length=2_000)
    """Ids of memories that do not expire, last pinned first."""
    memories_apart: tuple[tuple[str, str], ...] = Field(default=(), max_length=2_000)
    """Pairs of memories that look like duplicates or contradictions and, according to a person, may both stay."""
    fsync: bool = True
    """Wait for the disk at each commit; off survives a killed program but not a power cut."""
    approvals: ApprovalSettings = ApprovalSettings()
    web: WebSettings = WebSettings()
    media: MediaSettings = MediaSettings()
    max_depth: int = Field(default=limits.DEPTH, ge=0, le=limits.DEPTH_MAX)
    """Maximum depth of agents starting agents; 0 disables it."""
    audit_days: int = Field(default=30, ge=0, le=3650)
    """Days shown of the audit trail; 0 shows everything. The events stay in their workflow either way."""
    checkpoint_days: int = Field(default=30, ge=0, le=3650)
    """Days for which file changes can be undone; 0 keeps the data forever."""
    checkpoint_mb: int = Field(default=1000, ge=10, le=1_000_000)
    """Maximum megabytes of undo data; beyond it the oldest changes are deleted."""
    folder_trust: dict[str, bool] = Field(default={}, max_length=2_000)
    """By folder, whether a person allowed agents to obey its instruction files; others were not asked about."""
    project_answers: dict[str, bool] = Field(default={}, max_length=2_000)
    """By granted folder, whether a person wants it as a project; others were not asked about."""
    skills_off: tuple[str, ...] = Field(default=(), max_length=2_000)
    """Absolute files of disabled skills and commands."""
    favourite_models: tuple[str, ...] = Field(default=(), max_length=200)
    """``provider/model`` of models listed first."""
    recent_models: tuple[str, ...] = Field(default=(), max_length=20)
    """``provider/model`` of recently chosen models, newest first."""
    provider_names: dict[str, str] = Field(default={}, max_length=MOST_FORMER_NAMES)
    """Present names of providers by former name, for older workflows and runs. The oldest entries are dropped."""
    last_agent_id: str = ""
    """Agent of the last message: the default of the next new workflow. Empty for the default agent."""
    last_model: Annotated[str, Field(max_length=600, pattern=PROVIDER_AND_MODEL)] = ""
    """``provider/model`` chosen then instead of the agent's own; empty for that."""
    favourite_agents: tuple[str, ...] = Field(default=(), max_length=200)
    """Ids of agents listed first."""
    confirmed_tools: dict[str, str] = {}
    """Confirmed files of the data folder's ``tools``: SHA-256 by file name."""
    held: tuple[HeldGrant, ...] = ()
    """Inactive parts of imported data until a person confirms them; see ``in_force``."""
    shortcuts: dict[ActionName, Keys] = Field(default={}, max_length=500)
    """Shortcuts by action that replace the defaults; empty for none."""
    window: dict[str, str] = {}
    """Geometry and layout of the window (base64 by name)."""

    @property
    def in_force(self) -> Settings:
        """Return these settings without services whose address was not confirmed here."""
        held = {each.kind for each in self.held}
        changed: dict[str, object] = {}
        if HeldKind.EMBEDDER in held:
            changed |= {"embedder": EmbedderSettings(kind="none"), "embedder_before": None}
        if HeldKind.SEARCH in held:
            changed["web"] = self.web.model_copy(update={"search": "off"})
        media = {"images": ""} if HeldKind.IMAGES in held else {}
        media |= {"models": "off"} if HeldKind.MODELS in held else {}
        if media:
            changed["media"] = self.media.model_copy(update=media)
        return self.model_copy(update=changed) if changed else self

    def trusts(self, folder: PurePath) -> bool | None:
        """Return the decision about a folder (links resolved) or its nearest parent; None if nobody was asked."""
        return next(
            (self.folder_trust[str(each)] for each in (folder, *folder.parents) if str(each) in self.folder_trust), None
        )

    def with_rules(self, rules: Iterable[PermissionRule]) -> Settings:
        """Return these settings with other standing rules, which are stored separately."""
        return self.model_copy(update={"approvals": self.approvals.model_copy(update={"rules": tuple(rules)})})
