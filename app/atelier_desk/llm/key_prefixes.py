"""Identify the vendor of an API key by its prefix, so that another vendor's key never leaves this machine.

Prefixes are those shown on the vendors' pages; other keys may be anybody's, and are sent.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.support.i18n import N_

_MAKERS = (
    ("Anthropic", r"sk-ant-", ("api.anthropic.com",)),
    ("OpenRouter", r"sk-or-", ("openrouter.ai",)),
    ("OpenAI", r"sk-(proj|svcacct|admin)-", ("api.openai.com",)),
    ("Google", r"AIza[\w-]{30}", ("generativelanguage.googleapis.com",)),
    ("Groq", r"gsk_", ("api.groq.com",)),
    ("xAI", r"xai-", ("api.x.ai",)),
    ("Cerebras", r"csk-", ("api.cerebras.ai",)),
    ("Fireworks AI", r"fw_", ("api.fireworks.ai",)),
    ("Together AI", r"tgp_v1_", ("api.together.ai", "api.together.xyz")),
    ("Mistral", r"(?!)", ("api.mistral.ai",)),
    ("DeepSeek", r"(?!)", ("api.deepseek.com",)),
    ("Hugging Face", r"hf_", ("router.huggingface.co",)),
    ("Perplexity", r"pplx-", ("api.perplexity.ai",)),
    ("GitHub", r"(ghp|gho|ghu|ghs)_|github_pat_", ("models.github.ai",)),
)
"""Vendor, prefix of its keys (``(?!)``: none) and hosts of its servers."""


def maker_of(key: str) -> str:
    """Return the vendor of a key by its prefix; empty if unknown."""
    return next((maker for maker, begins, _hosts in _MAKERS if re.match(begins, key)), "")


def refuse_another_maker(key: str, url: str, provider: str) -> None:
    """Refuse to send a key to the servers of another vendor. Servers of no known vendor may want any key.

    Raises:
        ProviderError: it would be sent there (code ``auth``).
    """
    host = urlsplit(url).hostname or ""
    own = next((maker for maker, _begins, hosts in _MAKERS if host in hosts), "")
    maker = maker_of(key)
    if own and maker and own != maker:
        raise ProviderError(
            N_(
                "The key of {provider} was issued by {maker}, but {host} belongs to {own}, so the key was not sent "
                "there. Set a key from {own} instead."
            ),
            code="auth",
            provider=provider,
            maker=maker,
            host=host,
            own=own,
        )
