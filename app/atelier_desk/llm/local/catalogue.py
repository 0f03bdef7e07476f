"""Models that can be downloaded in the program.

SHA-256 and size are those published by the hub (LFS object), confirmed by several independent projects that pin the
same file; if the owner's revision is known, the address pins it. Licences are the model owners' own.
"""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain.base_model import Model
from atelier_desk.support.i18n import N_

HUB = "https://huggingface.co"


class CatalogueEntry(Model):
    """One downloadable model.

    Attributes:
        id: stable name of the entry; ``file`` without extension is the model's name once downloaded.
        ram_gb: memory needed with the default context, rounded up.
        tools: supports native tool calls.
        summary: its purpose, as a translatable message.
    """

    id: str
    label: str
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.gguf$")
    url: str
    size_bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    licence_url: str
    ram_gb: int
    tools: bool
    summary: str


def _hub(repository: str, file: str, revision: str = "main") -> str:
    return f"{HUB}/{repository}/resolve/{revision}/{file}"


CATALOGUE = (
    CatalogueEntry(
        id="qwen3-0.6b",
        label="Qwen3 0.6B (Q8_0)",
        file="Qwen3-0.6B-Q8_0.gguf",
        url=_hub("Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf", "23749fefcc72300e3a2ad315e1317431b06b590a"),
        size_bytes=639_446_688,
        sha256="9465e63a22add5354d9bb4b99e90117043c7124007664907259bd16d043bb031",
        licence="Apache-2.0",
        licence_url=f"{HUB}/Qwen/Qwen3-0.6B/blob/main/LICENSE",
        ram_gb=2,
        tools=True,
        summary=N_("The smallest that can call tools; quick on any computer."),
    ),
    CatalogueEntry(
        id="qwen3-1.7b",
        label="Qwen3 1.7B (Q8_0)",
        file="Qwen3-1.7B-Q8_0.gguf",
        url=_hub("Qwen/Qwen3-1.7B-GGUF", "Qwen3-1.7B-Q8_0.gguf", "90862c4b9d2787eaed51d12237eafdfe7c5f6077"),
        size_bytes=1_834_426_016,
        sha256="061b54daade076b5d3362dac252678d17da8c68f07560be70818cace6590cb1a",
        licence="Apache-2.0",
        licence_url=f"{HUB}/Qwen/Qwen3-1.7B/blob/main/LICENSE",
        ram_gb=4,
        tools=True,
        summary=N_("A good first choice: tools, reasoning, many languages."),
    ),
    CatalogueEntry(
        id="qwen3-4b",
        label="Qwen3 4B (Q4_K_M)",
        file="Qwen3-4B-Q4_K_M.gguf",
        url=_hub("Qwen/Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf", "bc640142c66e1fdd12af0bd68f40445458f3869b"),
        size_bytes=2_497_280_256,
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        licence="Apache-2.0",
        licence_url=f"{HUB}/Qwen/Qwen3-4B/blob/main/LICENSE",
        ram_gb=5,
        tools=True,
        summary=N_("The best in this list for agents, but slow on older processors."),
    ),
    CatalogueEntry(
        id="ministral-3-3b",
        label="Ministral 3 3B Instruct (Q4_K_M)",
        file="Ministral-3-3B-Instruct-2512-Q4_K_M.gguf",
        url=_hub(
            "mistralai/Ministral-3-3B-Instruct-2512-GGUF",
            "Ministral-3-3B-Instruct-2512-Q4_K_M.gguf",
            "eb599d408350ea2bb60452cb86be7c7b2fc28227",
        ),
        size_bytes=2_147_023_008,
        sha256="9ed150d4367e68df0ac8e1540f6ddc65b42d0ee26378329d1ecbca60f93fc5f8",
        licence="Apache-2.0",
        licence_url=f"{HUB}/mistralai/Ministral-3-3B-Instruct-2512-GGUF",
        ram_gb=4,
        tools=True,
        summary=N_("Mistral AI's small model: good at French, can call tools."),
    ),
    CatalogueEntry(
        id="llama-3.2-3b",
        label="Llama 3.2 3B Instruct (Q4_K_M)",
        file="Llama-3.2-3B-Instruct-Q4_K_M.gguf",
        url=_hub("unsloth/Llama-3.2-3B-Instruct-GGUF", "Llama-3.2-3B-Instruct-Q4_K_M.gguf"),
        size_bytes=2_019_377_600,
        sha256="6c99cc00ae910f6a532a80022cb4bc1939094527a089c29294b841c0bd87f74d",
        licence="Llama 3.2 Community License",
        licence_url="https://www.llama.com/llama3_2/license/",
        ram_gb=4,
        tools=True,
        summary=N_("Meta's small model: plain, reliable writing."),
    ),
    CatalogueEntry(
        id="gemma-3-4b",
        label="Gemma 3 4B Instruct (Q4_K_M)",
        file="gemma-3-4b-it-Q4_K_M.gguf",
        url=_hub(
            "ggml-org/gemma-3-4b-it-GGUF", "gemma-3-4b-it-Q4_K_M.gguf", "d0976223747697cb51e056d85c532013931fe52e"
        ),
        size_bytes=2_489_757_856,
        sha256="882e8d2db44dc554fb0ea5077cb7e4bc49e7342a1f0da57901c0802ea21a0863",
        licence="Gemma Terms of Use",
        licence_url="https://ai.google.dev/gemma/terms",
        ram_gb=5,
        tools=False,
        summary=N_("Google's small model: chats well in many languages; no native tool calls."),
    ),
)
