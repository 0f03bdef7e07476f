"""Text about permissions that imported data needs confirmed."""

from __future__ import annotations

from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.support.i18n import N_, _, ngettext

_TITLES = {
    HeldKind.EMBEDDER: N_("Embeddings"),
    HeldKind.SEARCH: N_("Web search"),
    HeldKind.IMAGES: N_("Images"),
    HeldKind.MODELS: N_("3D models"),
    HeldKind.CONTENTS: N_("Contents of workflows and memories"),
}


def title(grant: HeldGrant) -> str:
    """What needs confirmation."""
    match grant.kind:
        case HeldKind.PROVIDER:
            return _("Provider {name}", name=grant.name)
        case HeldKind.WORKSPACE:
            count = len(grant.workflows)
            return ngettext("Workspace folders of {n} workflow", "Workspace folders of {n} workflows", count)
    return _(_TITLES[grant.kind])


def about(grant: HeldGrant) -> str:
    """Subject of a confirmation: an address and what is sent there, or folders, one a line."""
    if grant.kind is HeldKind.CONTENTS:
        return _("Agents that read these contents are treated as having read untrusted content.")
    return "\n".join(grant.about)
