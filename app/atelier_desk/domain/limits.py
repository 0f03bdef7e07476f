"""Every limit in one place, used by validation, tool descriptions and screens."""

from typing import Final

WORKFLOW_NAME: Final = 256
COLLECTION: Final = 64
MESSAGE: Final = 100_000
CALL: Final = 1_500_000
"""Characters of a tool call by a person or a script, as JSON: a report at its own limit, each character written as an escape."""
ATTACHED_TEXT: Final = 100_000
"""Characters a model is given of all that goes with one message, together; of more it is given excerpts."""
ATTACHED_FILES: Final = 20
"""Things that go with one message, pictures among them."""
ATTACHED_FILE: Final = 20 * 1024 * 1024
"""Bytes of one file that goes with a message."""
ATTACHED_PICTURE: Final = 6 * 1024 * 1024
"""Bytes of one picture that goes with a message; servers refuse larger ones."""
PICTURE_FILE: Final = 100 * 1024 * 1024
"""Bytes of a picture file that is scaled down to go with a message: 24 million pixels of a camera as BMP are 72 MB."""
PICTURE_PIXELS: Final = 64_000_000
"""Pixels of a picture that is opened: one of more needs over 256 MB to be drawn, and may be made to exhaust the memory."""
ATTACHED_ENTRIES: Final = 1_000
"""Files that the list of an attached folder names."""
ATTACHED_NAME: Final = 255
AGENT_NAME: Final = 64
AGENT_PURPOSE: Final = 200
"""Characters: one line of a list."""
MODEL_NAME: Final = 512
"""Characters: the names of local servers are paths, those of clouds are resource names."""
PROVIDER_HEADERS: Final = 20
"""Headers of the owner's that a model server is sent with each request."""
SYSTEM_PROMPT: Final = 100_000
"""Characters of an agent's instructions. Of 944 files of agents in public repositories 160 have more than 10 000, and none this many."""
ANSWER_SCHEMA: Final = 20_000
"""Characters of the JSON Schema of an agent's answers."""
WORKFLOW_INSTRUCTIONS: Final = 5_000
"""Characters of what one workflow adds to its agent's instructions."""
TEMPERATURE: Final = (0.0, 2.0)
MAX_TOKENS: Final = (256, 128_000)
TOOL_ITERATIONS: Final = (1, 200)
TOOL_ITERATIONS_DEFAULT: Final = 50

MEMORY_CONTENT: Final = 50_000
MEMORY_LIST_DEFAULT: Final = 10
MEMORY_LIST_MAX: Final = 100
PROJECT_NAME: Final = 128
PROMPTS: Final = 1_000
"""Prompts that a person may keep: each is looked through while ``/`` is typed."""
PROMPT_NAME: Final = 64
"""Characters, as of skills: https://agentskills.io/specification."""
PROMPT_DESCRIPTION: Final = 1_000
PROMPT_CONTENT: Final = 50_000
"""Characters of a prompt's text; with its variables filled in it is a message: ``MESSAGE``."""
PROMPT_VARIABLES: Final = 20
"""Variables of one prompt: each is a field of a form."""
MEMORY_TAGS: Final = 20
MEMORY_TAG: Final = 64
MEMORY_CONTEXT_DAYS: Final = 7
DELETED_DAYS: Final = 30
"""Days for which a deleted workflow, version of a turn or memory can be brought back, as in the bins of mail programs and file stores."""

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
"""Files of a folder that are counted before a person is asked about it."""
RULE_TEXT: Final = 1_000
TAINT: Final = 200
"""Characters of a name of what was read from outside."""
RULES: Final = 1_000
"""Permission rules; a run is given those that hold for it."""
RULE_FILE: Final = 1_000_000
"""Bytes of another program's file that are read for rules."""
"""Characters of a permission rule."""

REPORT: Final = 200_000
REPORT_NAME: Final = 128
CALCULATOR_EXPRESSION: Final = 1_000

CHILDREN: Final = 15
"""Sub-agents alive under one root run; also the most tasks of one batch."""
DEPTH: Final = 3
"""The depth at which no agent can be started any more, unless a setting says otherwise; the root run has depth 0."""
DEPTH_MAX: Final = 6
"""The deepest a setting may allow."""
PLAN_ACTIONS: Final = 30
PLAN_GOAL: Final = 4_000
PLAN_DESCRIPTION: Final = 2_000
CHILD_TITLE: Final = 120
CHILD_RETRY_S: Final = (0.5, 2.0)
"""First and longest pause between a sub-agent's attempts at a model request."""
CHILD_WAIT_S: Final = 60.0
"""Longest pause a model server can ask of a sub-agent before its next attempt."""
REPLY_ATTEMPTS: Final = 3
"""Requests a run makes for one reply: a sub-agent whenever it may help, a root run when the connection drops in the reply's middle."""
INACTIVITY_S: Final = 300
"""Seconds without a word after which a model's reply, or a sub-agent, is ended, unless a setting says otherwise."""
INACTIVITY: Final = (5, 3_600)
CHILD_CHECK_S: Final = 30

APPROVAL_TIMEOUT_S: Final = 0
"""Seconds to decide while the card can be seen, unless a setting says otherwise; 0 waits for ever."""
APPROVAL_TIMEOUT: Final = (30, 300)
APPROVAL_NOTE: Final = 2_000

RESULT_TO_MODEL: Final = 30_000
"""Characters of one tool result that reach the model."""
RESULT_STORED: Final = 1024 * 1024
"""Bytes of one tool result that are stored."""
PROVIDER_DATA: Final = 1024 * 1024
"""Bytes of JSON a model server may send along with a reply, or with a call, to be kept and given back; more of it is not kept."""

LIST_DEFAULT: Final = 100
LIST_MAX: Final = 1_000
WORKFLOWS_RUNNING: Final = 3
IMPORT_FILE: Final = 10 * 1024 * 1024
"""Bytes of one imported file."""
MEMORY_FILE: Final = 128 * 1024 * 1024
"""Bytes of one file of memories: what is exported of 50 000 of them has to come back."""

PROGRAM_ENDS_S: Final = 1.7
"""A program that was asked to end has ended within two seconds, and a moment is needed to end it by force.

What it waits for meanwhile comes one after the other: ``TOOL_ENDS_S`` for the command's own run, ``HAND_OVER_S``, ``LAST_WORDS_S``,
``RUNS_END_S`` and ``DATABASE_PAUSE_S``. Their sum leaves the rest for the work itself.
"""
TOOL_ENDS_S: Final = 0.3
"""How long the process of a tool that was asked to end may take before it is killed: time for a handler of SIGTERM."""
SHORT_COMMAND_S: Final = 0.3
"""How long other processes' commands that follow no run may take to be done: a list or a change of a row is by then."""
HAND_OVER_S: Final = 0.45
"""How long all commands of other processes may take, from the beginning of the end, to save or to be done."""
LAST_WORDS_S: Final = 0.2
"""How long other processes may take to read what they were sent."""
RUNS_END_S: Final = 0.35
"""How long steps may take to end that were cancelled; one that does not let itself be cancelled ends with the process."""
DATABASE_PAUSE_S: Final = 0.15
"""How long the database's files are left alone after it was closed: without it the engine's threads aborted the interpreter at exit in 3 of
17 measured runs, with it in 0 of 20."""

BREAKER_FAILURES: Final = 3
BREAKER_COOLDOWN_S: Final = 60

LOOP_WARN: Final = 3
LOOP_PAUSE: Final = 5

COMMAND_TIMEOUT_MS: Final = 60_000
COMMAND_TIMEOUTS_MS: Final = (1_000, 600_000)
"""Milliseconds a command may take that the agent waits for."""
COMMAND_ENDS_S: Final = 15.0
"""How long a command whose time is over may take to be gone, with all that it started, before its call is given up."""
COMMAND_BEGINS_S: Final = 0.5
"""How long a command in the background is watched before its call returns: one that fails at once says so."""
COMMAND_WAIT_MS: Final = 60_000
"""Milliseconds that one reading of a background command's output may wait for more."""
COMMAND_PART: Final = 24 * 1024
"""Bytes of a command's output that are read at once."""
COMMAND_INPUT: Final = 10_000
"""Characters written to a command's input at once."""
