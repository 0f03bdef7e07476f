"""Control tools: what a model says to the loop itself. The loop stops at such a call and goes on when its result is there.

Every agent has them, in every tool mode, without listing them; only a guided model, which calls no tools by itself, is not shown them.
Six any run may have, and the answer to a sub-agent, offered while one waits for it.
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
