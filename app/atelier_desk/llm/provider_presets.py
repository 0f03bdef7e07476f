"""Common services and servers with what is needed to add them: data only.

Addresses and variable names are from models.dev at f3fc692 (2026-07-02, MIT) and the vendors' pages; key pages are the
vendors'. A kind of provider without a line here is offered as registered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.provider_type_registry import any_server_type, find, provider_types
from atelier_desk.support.i18n import N_

KEY = N_("API key required")
HERE = N_("On this computer, no key needed")
ADDRESS = N_("Address required, API key optional")
BOTH = N_("Address and API key required")


@dataclass(frozen=True, slots=True)
class Preset:
    """A service, or a program that serves models.

    Attributes:
        id: its name in the model list (``llm.model_catalogue``), if listed.
        title: a proper name, not translated.
        needs: what is needed to use it, an English ``N_`` string.
        keys: page where keys are created.
        env: variable that usually holds the key.
        example: example address, if it has no fixed one.
        hosts: further hosts of its address; one with a leading dot includes all subdomains.
    """

    id: str
    title: str
    url: str = ""
    needs: str = KEY
    keys: str = ""
    env: str = ""
    kind: str = "openai"
    hosts: tuple[str, ...] = ()
    words: str = ""
    example: str = ""

    @property
    def model(self) -> str:
        """The proposed model; empty for services with many vendors' models, or if none is known."""
        entry = find(self.kind)
        return entry.model if entry is not None and self.kind != any_server_type().kind else ""

    @property
    def needs_key(self) -> bool:
        return self.needs in (KEY, BOTH)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


PRESETS = (
    Preset("openai", "OpenAI", "https://api.openai.com/v1", KEY, "https://platform.openai.com/api-keys",
    "OPENAI_API_KEY", "responses",
           words="gpt"),
    Preset("anthropic", "Anthropic", "https://api.anthropic.com/v1", KEY, "https://console.anthropic.com/settings/keys",
           "ANTHROPIC_API_KEY", "anthropic", words="claude"),
    Preset("mistral", "Mistral", "https://api.mistral.ai/v1", KEY, "https://console.mistral.ai/api-keys",
    "MISTRAL_API_KEY", "mistral"),
    Preset("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", KEY, "https://openrouter.ai/settings/keys",
    "OPENROUTER_API_KEY",
           words="claude gemini gpt llama"),
    Preset("google", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta", KEY,
    "https://aistudio.google.com/apikey",
           "GEMINI_API_KEY", "google", words="gemini"),
    Preset("groq", "Groq", "https://api.groq.com/openai/v1", KEY, "https://console.groq.com/keys", "GROQ_API_KEY",
    words="llama"),
    Preset("deepseek", "DeepSeek", "https://api.deepseek.com/v1", KEY, "https://platform.deepseek.com/api_keys",
    "DEEPSEEK_API_KEY"),
    Preset("xai", "xAI", "https://api.x.ai/v1", KEY, "https://console.x.ai", "XAI_API_KEY", words="grok"),
    Preset("togetherai", "Together AI", "https://api.together.ai/v1", KEY, "https://api.together.ai/settings/api-keys",
    "TOGETHER_API_KEY",
           hosts=("api.together.xyz",), words="llama qwen"),
    Preset("fireworks-ai", "Fireworks AI", "https://api.fireworks.ai/inference/v1", KEY,
    "https://app.fireworks.ai/settings/users/api-keys",
           "FIREWORKS_API_KEY"),
    Preset("cerebras", "Cerebras", "https://api.cerebras.ai/v1", KEY, "https://cloud.cerebras.ai", "CEREBRAS_API_KEY"),
    Preset("moonshotai", "Moonshot AI", "https://api.moonshot.ai/v1", KEY,
    "https://platform.moonshot.ai/console/api-keys",
           "MOONSHOT_API_KEY", words="kimi"),
    Preset("zai", "Z.AI", "https://api.z.ai/api/paas/v4", KEY, "https://z.ai/manage-apikey/apikey-list",
    "ZHIPU_API_KEY",
           words="glm zhipu"),
    Preset("azure", "Azure OpenAI", "", BOTH, "https://portal.azure.com", "AZURE_API_KEY", hosts=(".openai.azure.com",
           ".cognitiveservices.azure.com", ".services.ai.azure.com"), words="microsoft gpt",
           example="https://NAME.openai.azure.com/openai/v1"),
    Preset("ollama", "Ollama", "http://localhost:11434", HERE, kind="ollama", words="local"),
    Preset("lmstudio", "LM Studio", "http://localhost:1234/v1", HERE, words="local"),
    Preset("llama.cpp", "llama.cpp", "http://localhost:8080/v1", HERE, words="local llama-server"),
    Preset("vllm", "vLLM", "http://localhost:8000/v1", HERE, words="local"),
)  # fmt: skip
FIRST = ("openai", "anthropic", "google", "mistral", "openrouter")
"""The most common services, in the order offered at first start."""
LISTED_NOT = frozenset({"azure", "ollama", "lmstudio", "llama.cpp", "vllm"})
"""Prices and contexts depend on the deployment or machine: the model list does not apply."""


def presets() -> list[Preset]:
    """Return what can be added: the list, kinds without a line, and last any other server."""
    known = {preset.kind for preset in PRESETS}
    own = [entry for entry in provider_types() if not entry.builtin and entry.kind not in known]
    more = [
        Preset(entry.kind, entry.name or entry.title, entry.url, KEY if entry.needs_key else ADDRESS, kind=entry.kind)
        for entry in own
    ]
    other = any_server_type()
    return [
        *PRESETS,
        *more,
        Preset(
            "",
            "",
            "",
            ADDRESS,
            kind=other.kind,
            words="openai-compatible other server",
            example="https://host.example/v1",
        ),
    ]


def preset_of(config: ProviderConfig) -> Preset | None:
    """Return the service of a configuration by its host; None for others, and for local servers."""
    entry = find(config.kind)
    host = urlsplit(config.base_url or (entry.url if entry is not None else "")).hostname or ""
    return next((each for each in PRESETS if each.needs != HERE and _is_of(host, each)), None)


def at_usual_place(url: str, variable: str) -> bool:
    """Whether an address is a listed service's own server and the key is in its usual variable.

    Shared hosts with customer subdomains (Azure) do not count.
    """
    try:
        parts = urlsplit(url)
        place = (parts.scheme, parts.hostname, parts.port)
    except ValueError:
        return False
    for each in PRESETS:
        own = urlsplit(each.url)
        places = {
            (own.scheme, own.hostname, own.port),
            *(("https", host, None) for host in each.hosts if host[0] != "."),
        }
        if each.url and place in places and variable in ("", each.env):
            return True
    return False


def name_for(config: ProviderConfig, taken: Iterable[str]) -> str:
    """Return a free name for a new provider: from its service, otherwise its host; ``taken`` are existing names."""
    preset = preset_of(config)
    host = urlsplit(config.base_url).hostname or ""
    entry = find(config.kind)
    usual = entry.name if entry is not None and not config.base_url else ""
    bare = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in ".-") else "-" for letter in host
    ).strip("-.")
    name = preset.title if preset is not None else usual or bare[:60] or "Server"
    used = {each.casefold() for each in taken}
    return next(
        free for free in (name, *(f"{name} {number}" for number in range(2, 1000))) if free.casefold() not in used
    )


def _is_of(host: str, preset: Preset) -> bool:
    return bool(host) and (
        host == preset.host or any(host.endswith(each) if each[0] == "." else host == each for each in preset.hosts)
    )
