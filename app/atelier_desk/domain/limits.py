"""All limits, used by validation, tool descriptions and screens."""

from typing import Final

WORKFLOW_NAME: Final = 256
COLLECTION: Final = 64
MESSAGE: Final = 100_000
CALL: Final = 1_500_000
"""Maximum characters of a tool call by a person or script, as JSON.

A report at its own limit with every character escaped.
"""
ATTACHED_TEXT: Final = 100_000
"""Maximum total characters that a model is given of one message's attachments; longer ones become excerpts."""
ATTACHED_FILES: Final = 20
"""Maximum attachments of a message, including images."""
ATTACHED_FILE: Final = 20 * 1024 * 1024
"""Maximum bytes of an attached file."""
ATTACHED_PICTURE: Final = 6 * 1024 * 1024
"""Maximum bytes of an attached image; servers refuse larger ones."""
PICTURE_FILE: Final = 100 * 1024 * 1024
"""Maximum bytes of an image file that is scaled down for a message: 24 megapixels as BMP are 72 MB."""
PICTURE_PIXELS: Final = 64_000_000
"""Maximum pixels of an image: larger ones need over 256 MB to be drawn, and may be meant to exhaust the memory."""
ATTACHED_ENTRIES: Final = 1_000
"""Maximum files listed of an attached folder."""
ATTACHED_NAME: Final = 255
AGENT_NAME: Final = 64
AGENT_PURPOSE: Final = 200
"""Maximum characters: one line of a list."""
MODEL_NAME: Final = 512
"""Maximum characters: names on local servers are paths, on clouds resource names."""
PROVIDER_HEADERS: Final = 20
"""Maximum custom headers per model server."""
SYSTEM_PROMPT: Final = 100_000
"""Maximum characters of an agent's instructions.

Of 944 agent files in public repositories 160 have more than 10 000, none this many.
"""
ANSWER_SCHEMA: Final = 20_000
"""Maximum characters of an agent's answer schema."""
WORKFLOW_INSTRUCTIONS: Final = 5_000
"""Maximum characters of a workflow's additional instructions."""
TEMPERATURE: Final = (0.0, 2.0)
MAX_TOKENS: Final = (256, 128_000)
TOOL_ITERATIONS: Final = (1, 200)
TOOL_ITERATIONS_DEFAULT: Final = 50

MEMORY_CONTENT: Final = 50_000
MEMORY_LIST_DEFAULT: Final = 10
MEMORY_LIST_MAX: Final = 100
PROJECT_NAME: Final = 128
PROMPTS: Final = 1_000
"""Maximum prompts of a person: all are searched while ``/`` is typed."""
PROMPT_NAME: Final = 64
"""Maximum characters, as for skills: https://agentskills.io/specification."""
PROMPT_DESCRIPTION: Final = 1_000
PROMPT_CONTENT: Final = 50_000
"""Maximum characters of a prompt's text; filled in, it is a message: ``MESSAGE``."""
PROMPT_VARIABLES: Final = 20
"""Maximum variables of a prompt: each is a form field."""
MEMORY_TAGS: Final = 20
MEMORY_TAG: Final = 64
MEMORY_CONTEXT_DAYS: Final = 7
DELETED_DAYS: Final = 30
"""Days for which a deleted workflow, version of a turn or memory can be restored, as in common mail and storage
services.
"""

TASK_NAME: Final = 128
TASK_DESCRIPTION: Final = 1_000
TASK_PRIORITY: Final = (1, 5)
TASK_PRIORITY_DEFAULT: Final = 3
TASK_LIST_MAX: Final = 100

QUESTION: Final = 2_000
QUESTION_OPTIONS: Final = 20
QUESTION_OPTION_ID: Final = 64
QUESTION_OPTION_LABEL: Final = 256
QUESTION_CONTEXT: Final = 5_000
QUESTION_TEXT_RESPONSE: Final = 10_000
QUESTION_PENDING: Final = 50

COUNTED_FILES: Final = 10_000
"""Maximum files counted in a folder before a person is asked about it."""
RULE_TEXT: Final = 1_000
"""Maximum characters of a permission rule."""
TAINT: Final = 200
"""Maximum characters of the name of an outside source."""
RULES: Final = 1_000
"""Maximum permission rules; a run gets those that apply to it."""
RULE_FILE: Final = 1_000_000
"""Maximum bytes of another program's file read for rules."""

REPORT: Final = 200_000
REPORT_NAME: Final = 128
CALCULATOR_EXPRESSION: Final = 1_000

CHILDREN: Final = 15
"""Maximum sub-agents alive under one root run; also the maximum tasks of a batch."""
DEPTH: Final = 3
"""Default depth at which no more agents can be started; the root run has depth 0."""
DEPTH_MAX: Final = 6
"""Maximum depth of the setting."""
PLAN_ACTIONS: Final = 30
PLAN_GOAL: Final = 4_000
PLAN_DESCRIPTION: Final = 2_000
CHILD_TITLE: Final = 120
CHILD_RETRY_S: Final = (0.5, 2.0)
"""First and longest pause in seconds between a sub-agent's attempts at a model request."""
CHILD_WAIT_S: Final = 60.0
"""Longest pause in seconds that a model server can request from a sub-agent."""
REPLY_ATTEMPTS: Final = 3
"""Requests per reply.

For a sub-agent whenever it may help, for a root run when the connection drops during the reply.
"""
INACTIVITY_S: Final = 300
"""Default seconds of inactivity after which a model's reply, or a sub-agent, is ended."""
INACTIVITY: Final = (5, 3_600)
CHILD_CHECK_S: Final = 30

APPROVAL_TIMEOUT_S: Final = 0
"""Default seconds to decide while the card is visible; 0 waits forever."""
APPROVAL_TIMEOUT: Final = (30, 300)
APPROVAL_NOTE: Final = 2_000

RESULT_TO_MODEL: Final = 30_000
"""Maximum characters of a tool result for the model."""
RESULT_STORED: Final = 1024 * 1024
"""Maximum stored bytes of a tool result."""
PROVIDER_DATA: Final = 1024 * 1024
"""Maximum bytes of JSON that a model server sends with a reply or call to be returned later; more is not stored."""

LIST_DEFAULT: Final = 100
LIST_MAX: Final = 1_000
WORKFLOWS_RUNNING: Final = 3
IMPORT_FILE: Final = 10 * 1024 * 1024
"""Maximum bytes of an imported file."""
MEMORY_FILE: Final = 128 * 1024 * 1024
"""Maximum bytes of a memory file: an export of 50 000 memories must be importable."""

PROGRAM_ENDS_S: Final = 1.7
"""Seconds to shut down: within two seconds of the request, with a margin for ending it by force.

The waits are sequential: ``TOOL_ENDS_S`` for the command's own run, ``HAND_OVER_S``, ``LAST_WORDS_S``, ``RUNS_END_S``
and ``DATABASE_PAUSE_S``. The rest of the time is for the work itself.
"""
TOOL_ENDS_S: Final = 0.3
"""Seconds until a tool's process that was asked to end is killed: time for a SIGTERM handler."""
SHORT_COMMAND_S: Final = 0.3
"""Seconds for other processes' commands that follow no run to finish: enough for a listing or a change of a row."""
HAND_OVER_S: Final = 0.45
"""Seconds for all commands of other processes, from the beginning of the shutdown, to save or finish."""
LAST_WORDS_S: Final = 0.2
"""Seconds for other processes to read what they were sent."""
RUNS_END_S: Final = 0.35
"""Seconds for cancelled steps to end; one that ignores cancellation ends with the process."""
DATABASE_PAUSE_S: Final = 0.15
"""Seconds to leave the closed database's files alone.

Without it the engine's threads aborted the interpreter at exit in 3 of 17 measured runs, with it in 0 of 20.
"""

BREAKER_FAILURES: Final = 3
BREAKER_COOLDOWN_S: Final = 60

LOOP_WARN: Final = 3
LOOP_PAUSE: Final = 5

COMMAND_TIMEOUT_MS: Final = 60_000
COMMAND_TIMEOUTS_MS: Final = (1_000, 600_000)
"""Allowed milliseconds for a command that the agent waits for."""
COMMAND_ENDS_S: Final = 15.0
"""Seconds for a timed-out command and everything it started to end before its call is abandoned."""
COMMAND_BEGINS_S: Final = 0.5
"""Seconds a background command is watched before its call returns: immediate failures are reported."""
COMMAND_WAIT_MS: Final = 60_000
"""Maximum milliseconds that reading a background command's output may wait for more."""
COMMAND_PART: Final = 24 * 1024
"""Maximum bytes of a command's output read at once."""
COMMAND_INPUT: Final = 10_000
"""Maximum characters written to a command's input at once."""
