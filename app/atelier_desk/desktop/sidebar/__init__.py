"""The sidebar: workflows, and at its foot settings, language and connection."""
