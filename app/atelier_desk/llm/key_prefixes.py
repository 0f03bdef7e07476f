"""Whose a key is, by how it begins: one of another maker is told apart before it leaves this machine.

Beginnings are those that the makers' own pages show; a key that begins otherwise may be anybody's, and is sent.
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
"""Maker, how its keys begin (``(?!)``: like anybody's) and the hosts of its servers."""


def maker_of(key: str) -> str:
    """The maker whose key this is by its beginning; empty where that cannot be told."""
    return next((maker for maker, begins, _hosts in _MAKERS if re.match(begins, key)), "")


def refuse_another_maker(key: str, url: str, provider: str) -> None:
    """See that a key does not go to the servers of another maker than its own. Servers that are no maker's may want any key.

    Raises:
        ProviderError: it would (code ``auth``).
    """
    host = urlsplit(url).hostname or ""
    own = next((maker for maker, _begins, hosts in _MAKERS if host in hosts), "")
    maker = maker_of(key)
    if own and maker and own != maker:
        raise ProviderError(
            N_("The key of {provider} is one of {maker}, but {host} belongs to {own}: it was not sent there. Set a key of {own} instead."),
            code="auth",
            provider=provider,
            maker=maker,
            host=host,
            own=own,
        )
