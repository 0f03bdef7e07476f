"""Control tools: messages of a model to the loop itself. The loop stops at such a call and continues with its result.

Every agent has them, in every tool mode, without listing them; only a guided model, which calls no tools itself, is not
offered them. Six are available to any run; ``answer_child`` is offered while a sub-agent waits for an answer.
"""

CONTROL_TOOLS = (
    "wait_user_response",
    "output",
    "task_complete",
    "task_abandon",
    "wait_parent",
    "invoke_tool",
    "answer_child",
    "read_attachment",
    "search_tools",
)
"""Their names."""
