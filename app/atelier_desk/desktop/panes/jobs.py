"""See ``desktop.jobs``."""

from atelier_desk.desktop.jobs import Jobs, error_text

__all__ = ["Jobs", "error_text"]
