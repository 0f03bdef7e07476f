"""The guided dialect, for models too small to call tools.

Select an action, fill it from the user's words, answer by template.
"""

from atelier_desk.llm.guided.guided_model import GuidedModel

__all__ = ["GuidedModel"]
