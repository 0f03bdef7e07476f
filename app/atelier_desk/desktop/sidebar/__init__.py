"""The left column: workflows, and at its foot settings, language and connection."""
