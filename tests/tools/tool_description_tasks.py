"""Small tasks for the tools that are hardest to describe: ten each, with the right call and the words that lead to
it.

A row is a task, the arguments of the right call, and the words needed to find them: a value's meaning, a unit, a
default. They are words of the tool's or a parameter's description; ``test_tool_descriptions`` checks that they are
present.
"""

from __future__ import annotations

from typing import Any

Row = tuple[Any, ...]
"""The task, the arguments, and the words."""


def _memory(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"operation": operation, **arguments}


def _spawn(**arguments: Any) -> dict[str, Any]:
    return {"operation": "spawn", "name": "Reader", "prompt": "Read it and report.", **arguments}


def _plan(*actions: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"goal": "Tidy up", "actions": [{"description": "Do it.", **action} for action in actions], **arguments}


def _ask(kind: str, *labels: str, **arguments: Any) -> dict[str, Any]:
    options = {"options": [{"id": label.lower(), "label": label} for label in labels]} if labels else {}
    return {"operation": "ask", "question": "Which one?", "questionType": kind, **options, **arguments}


def _query(entity: str, where: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    return {"entity": entity, **({"where": where} if where else {}), **arguments}


SCOPE = "For add. workflow: for this workflow alone. general: for all workflows"
FOUND = (
    "For list, search. workflow: this workflow's alone; general: those for all workflows, with your proposals for "
    "them; both."
)
CLEARS = (
    "For clear_by_type. workflow (when left out): this workflow's alone; general: those for all workflows, with your "
    "proposals; both."
)
MATCHES = "0 keeps all that matches at all, 0.7 what is about the same thing, 1 clear matches alone"
FORMS = (
    "Give path and one of: old_string with new_string; edits; start_line, end_line, expected and new_string; cell "
    "with new_string; append"
)
BOX = (
    "workspace: writes only in the workspace and $TMPDIR, no network. network: the same with the network, to install "
    "or download"
)
PERCENT = (
    "% is a percentage before of, * / ) and the end (12% of 840 = 840 * 12% = 100.8), a remainder between two "
    "numbers (17 % 5 = 2)"
)
SIDES = "With several, place means side: front, left, back, right, none skipped."
KINDS = "checkbox: the user chooses one or more options; text: writes freely; mixed: chooses, and may write too."
SERVERS = "it gets all their tools beside those in tools, and no other server's; [] for none"
CURRENT = "Makes a project the current one for the rest of this run"
LOADS = "Brings a project back into brain_search, and makes it the current project of this run."
UNLOADS = "Leaves a project out of brain_search, in other runs too, until load_project."
FILE_OPS = (
    'Ids of sections (list_tool_sections) whose tools the sub-agents get, such as ["file_ops"]; left out: all of yours.'
)

TASKS: dict[str, dict[str, list[Row]]] = {
    "MemoryTool": {
        "scope": [
            (
                "Keep for this workflow alone that it is a draft.",
                _memory("add", type="knowledge", content="It is a draft.", scope="workflow"),
                SCOPE,
            ),
            (
                "Keep for every workflow that we decided on Rust.",
                _memory("add", type="decision", content="Rust it is.", scope="general"),
                SCOPE,
            ),
            (
                "Keep where the user likes it kept by default: tea.",
                _memory("add", type="user_pref", content="Tea."),
                "general for user_pref",
            ),
            (
                "Keep a decision where decisions go.",
                _memory("add", type="decision", content="Blue."),
                "workflow for context and decision",
            ),
            (
                "Find what this workflow knows of rent, nothing else.",
                _memory("search", query="rent", scope="workflow"),
                FOUND,
            ),
            ("Find what holds everywhere about style.", _memory("search", query="style", scope="general"), FOUND),
            ("List all you may see.", _memory("list"), FOUND, "Default both."),
            ("Forget this workflow's contexts.", _memory("clear_by_type", type="context"), CLEARS),
            (
                "Forget all knowledge that is for all workflows.",
                _memory("clear_by_type", type="knowledge", scope="general"),
                CLEARS,
            ),
            (
                "Is what you keep for all known elsewhere at once?",
                _memory("add", type="knowledge", content="Yes.", scope="general"),
                "it is a proposal, which this workflow has at once and the others once the user agrees",
            ),
        ],
        "tags and threshold": [
            (
                "Keep it so that 'style' finds it.",
                _memory("add", type="user_pref", content="Short.", tags=["style"]),
                "Keywords to filter by later",
            ),
            (
                "List what has both tags, style and french.",
                _memory("list", tags=["style", "french"]),
                "Only memories that have each of these tags",
            ),
            ("Search among what is tagged Style.", _memory("search", query="tone", tags=["Style"]), "spelled the same"),
            (
                "Take all tags off m1.",
                _memory("update", memory_id="m1", tags=[]),
                "All its tags from now on; [] removes them.",
            ),
            (
                "m1 has the tag a; give it b as well.",
                _memory("update", memory_id="m1", tags=["a", "b"]),
                "All its tags from now on",
            ),
            ("Find whatever may have to do with boats.", _memory("search", query="boats", threshold=0), MATCHES),
            ("Find clear matches alone.", _memory("search", query="boats", threshold=1), MATCHES),
            ("The search found nothing.", _memory("search", query="boats", threshold=0), "Found nothing: try 0."),
            ("Search as usual.", _memory("search", query="boats"), "0.7 what is about the same thing"),
            (
                "It matters as much as can be.",
                _memory("add", type="decision", content="Never.", importance=1),
                "0 to 1; left out: user_pref 0.8, decision 0.7, knowledge 0.6, context 0.3.",
            ),
        ],
    },
    "SpawnAgentTool": {
        "spawn": [
            ("Give it the server github and nothing else.", _spawn(tools=[], mcp_servers=["github"]), SERVERS),
            ("Give it read_file and the server github.", _spawn(tools=["read_file"], mcp_servers=["github"]), SERVERS),
            ("All your tools but no server's.", _spawn(mcp_servers=[]), SERVERS, "left out: all of yours"),
            (
                "You have mcp__github__search: give it that server's tools.",
                _spawn(mcp_servers=["github"]),
                "NAME in mcp__NAME__tool",
            ),
            (
                "Only read_file, and so no server.",
                _spawn(tools=["read_file"]),
                "Left out: all your servers, or only what tools names.",
            ),
            ("All you have.", _spawn(), "left out: all of yours", "Left out: all your servers"),
            (
                "At most 50 cents and two minutes.",
                _spawn(budget={"max_cost": 0.5, "max_seconds": 120}),
                "max_cost in US dollars",
                "max_seconds",
            ),
            ("Go on while it works.", _spawn(wait=False), "false: it works in the background; join gives the report."),
            (
                "Get the reports of all that work in the background.",
                {"operation": "join"},
                "when left out, all whose reports you do not have yet",
            ),
            ("Stop c1.", {"operation": "terminate", "child_id": "c1"}, "stop one and everything below it"),
        ]
    },
    "edit_file": {
        "forms": [
            (
                "Replace x = 1, which is there once, by x = 2.",
                {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
                FORMS,
                "it must stand there once",
            ),
            (
                "Rename every foo to bar.",
                {"path": "a.py", "old_string": "foo", "new_string": "bar", "replace_all": True},
                "Replace old_string wherever it stands.",
            ),
            (
                "Take the line 'debug()' away.",
                {"path": "a.py", "old_string": "debug()\n", "new_string": ""},
                "empty deletes",
            ),
            (
                "read_file showed '12<tab>x'. Replace x.",
                {"path": "a.py", "old_string": "x", "new_string": "y"},
                "the number and tab before each line of read_file are no part of the text",
            ),
            (
                "Make two replacements, or none.",
                {
                    "path": "a.py",
                    "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}],
                },
                "one after the other; all or none",
            ),
            (
                "Replace lines 3 to 4, which are 'a' and 'b', by 'c'.",
                {"path": "a.py", "start_line": 3, "end_line": 4, "expected": "a\nb\n", "new_string": "c\n"},
                "First line to replace, from 1.",
                "itself included",
                "These lines as they are now; the last line end may be left out.",
            ),
            (
                "Add a line at the end.",
                {"path": "a.py", "append": "end\n"},
                "Lines for the end of the file, on a line of their own.",
            ),
            (
                "Replace the source of a notebook's first cell.",
                {"path": "a.ipynb", "cell": "0", "new_string": "1 + 1"},
                "by id or number from 0; new_string is its whole source",
            ),
            (
                "Change a.py and delete b.py in one call.",
                {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Delete File: b.py\n*** End Patch"},
                "*** Update File: PATH and its lines after a space (stays), - (goes) or + (comes)",
                "left out with patch",
            ),
            (
                "Make new.md by a patch.",
                {"patch": "*** Begin Patch\n*** Add File: new.md\n+# New\n*** End Patch"},
                "*** Add File: PATH, all lines after +",
            ),
        ]
    },
    "run_command": {
        "line": [
            (
                "Run the tests in sub.",
                {"command": "pytest -q", "cwd": "sub", "modifies_files": False},
                "Folder to run in, relative to the workspace; left out: its top.",
            ),
            ("Change to sub first.", {"command": "ls", "cwd": "sub", "modifies_files": False}, "Use it instead of cd."),
            (
                "Install a package with pip.",
                {"command": "pip install x", "modifies_files": True, "sandbox": "network"},
                BOX,
            ),
            (
                "Start a server.",
                {"command": "npm run dev", "modifies_files": False, "background": True},
                "For servers and watchers: returns a command_id at once, for command_output and command_stop.",
            ),
            (
                "It takes five minutes.",
                {"command": "make", "modifies_files": True, "timeout_ms": 300_000},
                "Milliseconds after which it is ended",
            ),
            (
                "The longest time there is.",
                {"command": "make", "modifies_files": True, "timeout_ms": 600_000},
                "600 seconds at most",
            ),
            (
                "Format all files.",
                {"command": "ruff format", "modifies_files": True},
                "true when it may create, change or delete files",
            ),
            ("Count lines.", {"command": "wc -l a.py", "modifies_files": False}, "false when it only reads"),
            (
                "Build, then test, only if it built.",
                {"command": "make && make test", "modifies_files": True},
                "Parts with &&, ||, ;, | and redirections are judged one by one.",
            ),
            (
                "Tell the user what it is for.",
                {"command": "make", "modifies_files": True, "description": "Build it"},
                "What it is for, in a few words; the user reads it when asked.",
            ),
        ]
    },
    "plan_actions": {
        "plan": [
            (
                "Two sub-agents, the second after the first.",
                _plan({}, {"depends_on": [0]}),
                "by place from 0: [0] waits for the first",
            ),
            (
                "The third needs both others.",
                _plan({}, {}, {"depends_on": [0, 1]}),
                "Actions before it that must have ended",
            ),
            ("Both at the same moment.", _plan({}, {}, strategy="all_at_once"), "all_at_once: all together."),
            (
                "One by one, and stop when one fails.",
                _plan({}, {}, strategy="sequential"),
                "one after the other, stops at the first failure",
            ),
            (
                "One tool call, no sub-agent.",
                _plan({"tool": "TodoTool", "arguments": {"operation": "list"}}),
                "Name of one of your tools, called once with arguments; left out: a sub-agent does the action.",
            ),
            ("Sub-agents with the file tools alone.", _plan({}, sections=["file_ops"]), FILE_OPS),
            ("Sub-agents with all your tools.", _plan({}), "left out: all of yours"),
            (
                "A long reply is needed.",
                _plan({"complexity": "complex"}),
                "how long its replies may be (simple 5096, moderate 6096, complex 8096 tokens)",
            ),
            (
                "What must the description of an action say?",
                _plan({"description": "Read the report 'x' and list its dates."}),
                "a sub-agent is told it, the goal and the results of earlier stages",
            ),
            (
                "As much together as may be.",
                _plan({}, {}),
                "batch_when_possible: together, as far as depends_on and changes allow",
            ),
        ]
    },
    "generate_3d_from_image": {
        "views": [
            (
                "One picture.",
                {"image_paths": ["a.png"], "output_path": "a.glb"},
                "1 to 4 pictures of a thing, front first.",
            ),
            ("front.png and left.png.", {"image_paths": ["front.png", "left.png"], "output_path": "a.glb"}, SIDES),
            ("left.png and front.png.", {"image_paths": ["front.png", "left.png"], "output_path": "a.glb"}, SIDES),
            (
                "back, front, left, right.",
                {"image_paths": ["front.png", "left.png", "back.png", "right.png"], "output_path": "a.glb"},
                SIDES,
            ),
            (
                "All four of generate_multiview_images in horse.",
                {
                    "image_paths": [f"horse/{side}.png" for side in ("front", "left", "back", "right")],
                    "output_path": "horse.glb",
                },
                SIDES,
            ),
            (
                "front, back and left.",
                {"image_paths": ["front.png", "left.png", "back.png"], "output_path": "a.glb"},
                SIDES,
            ),
            ("front and back, no left.", {"image_paths": ["front.png"], "output_path": "a.glb"}, "none skipped"),
            ("Save it as horse.", {"image_paths": ["a.png"], "output_path": "horse.glb"}, "a path ending with .glb"),
            ("Is it free?", {"image_paths": ["a.png"], "output_path": "a.glb"}, "each model costs the user money"),
            ("A JPEG.", {"image_paths": ["a.jpg"], "output_path": "a.glb"}, "PNG, JPEG or WebP"),
        ]
    },
    "query_entities": {
        "fields": [
            (
                "All classes.",
                _query("Scope", {"type": "class"}),
                "Classes, functions, methods are Scope.",
                "type of a Scope: class",
            ),
            (
                "Functions of more than 80 lines, the longest first.",
                _query("Scope", {"type": "function", "lines": {"gt": 80}}, order_by="-lines"),
                "-field for descending, as in -lines",
                "lines: how many",
            ),
            ("Classes and enums.", _query("Scope", {"type": ["class", "enum"]}), "a list: one of them"),
            ("What is below src.", _query("File", {"path": {"starts_with": "src/"}}), "starts_with"),
            ("Python files.", _query("File", {"language": "python"}), "language: such as python"),
            ("The method Store.save.", _query("Scope", {"qualified": "Store.save"}), "qualified: such as Store.save"),
            (
                "Methods that are not in tests.",
                _query("Scope", {"type": "method", "path": {"starts_with": "app/"}}),
                "All must hold",
            ),
            ("Pages that were read.", _query("WebPage"), "WebPage"),
            ("What is in the entity e1.", _query("Scope", {"parent": "e1"}), "parent: an id"),
            (
                "Fifty packages by name.",
                _query("Package", order_by="name", limit=50),
                "50 results",
                "A field, or -field",
            ),
        ]
    },
    "glob_files": {
        "pattern": [
            ("Markdown files at the top.", {"pattern": "*.md"}, "*.md: in cwd alone"),
            ("All Markdown files.", {"pattern": "**/*.md"}, "**/*.md: below it too"),
            ("TypeScript of both endings below src.", {"pattern": "src/**/*.{ts,tsx}"}, "{a,b} for choices"),
            ("The same, beginning in src.", {"pattern": "**/*.ts", "cwd": "src"}, "Folder where the pattern begins"),
            (
                "Without node_modules.",
                {"pattern": "**/*.js", "ignore": ["node_modules"]},
                "Names or patterns of files and folders to leave out",
            ),
            (
                "Without tests anywhere.",
                {"pattern": "**/*.py", "ignore": ["test_*"]},
                "Names or patterns of files and folders to leave out",
            ),
            (
                "GitHub's workflows.",
                {"pattern": ".github/workflows/*.yml"},
                "hidden ones only when a part of the pattern begins with a dot",
            ),
            ("The newest log.", {"pattern": "**/*.log"}, "newest first"),
            (
                "/work/a/*.py, and the workspace is /work.",
                {"pattern": "/work/a/*.py"},
                "an absolute one inside the workspace",
            ),
            ("Files of one letter.", {"pattern": "?"}, "* and ? within a name"),
        ]
    },
    "CalculatorTool": {
        "percent and log": [
            ("12 % of 840", {"operation": "eval", "expression": "12% of 840"}, PERCENT),
            (
                "840 plus 20 %",
                {"operation": "eval", "expression": "840 + 20% of 840"},
                PERCENT,
                '"expression": "840 + 12% of 840"',
            ),
            ("What is left of 17 after fives?", {"operation": "eval", "expression": "17 % 5"}, PERCENT),
            ("19 % tax on 100", {"operation": "eval", "expression": "100 * 19%"}, PERCENT),
            (
                "Logarithm of 8 to base 2",
                {"operation": "log", "a": 8, "b": 2},
                "of a and b, in this order: log to base b",
            ),
            ("The same as an expression", {"operation": "eval", "expression": "log(8, 2)"}, "as in log(8, 2)"),
            ("Natural logarithm of 5", {"operation": "ln", "value": 5}, "ln is the natural logarithm"),
            ("Logarithm of 1000 to base 10", {"operation": "log10", "value": 1000}, "log10 that to base 10"),
            ("Cube root of 27", {"operation": "nroot", "a": 27, "b": 3}, "nroot the b-th root of a"),
            (
                "Sine of 30 degrees",
                {"operation": "eval", "expression": "sin(radians(30))"},
                "angles in radians; use radians(x) for degrees",
            ),
        ]
    },
    "UserQuestionTool": {
        "question": [
            ("Let them choose one or more of three.", _ask("checkbox", "A", "B", "C"), KINDS),
            ("Let them write a name.", _ask("text"), KINDS),
            ("Let them choose, or say something else.", _ask("mixed", "A", "B"), KINDS),
            (
                "They must choose and give a reason.",
                _ask("mixed", "A", "B", textRequired=True),
                "choosing is not enough, text must be written too",
            ),
            ("A hint in the field.", _ask("text", textPlaceholder="Ada"), "Hint shown in the empty text field."),
            (
                "They need to know the price first.",
                _ask("checkbox", "A", context="A costs 5 €."),
                "What the user must know to decide.",
            ),
            (
                "What comes back of a choice?",
                _ask("checkbox", "A"),
                "the label is shown, the id (unique) comes back",
                "gives selectedOptions (ids)",
            ),
            ("What comes back of a text?", _ask("text"), "textResponse"),
            ("How long does it wait?", _ask("text"), "wait, without a time limit unless the agent has one"),
            ("Ask in which language?", _ask("text"), "in the user's language"),
        ]
    },
    "load_project": {
        "choice": [
            (
                "list_projects says shop, in shop/, is not loaded.",
                {"path": "shop"},
                "Use it when: list_projects says loaded: false.",
            ),
            ("Search shop again with all others.", {"path": "shop"}, LOADS),
            ("Restore what unload_project left out.", {"path": "shop"}, LOADS),
            ("Load it and work with it.", {"path": "shop"}, "makes it the current project of this run"),
            ("Its folder is the workspace.", {"path": "."}, "Its folder in the workspace, or one in it."),
            (
                "You know only shop/src, which lies in it.",
                {"path": "shop/src"},
                "Its folder in the workspace, or one in it.",
            ),
            ("The folder is absolute: /work/shop.", {"path": "/work/shop"}, "Its folder in the workspace"),
            ("Is a name taken? No, a folder.", {"path": "shop"}, "Its folder in the workspace"),
            (
                "Not this tool: the folder has no project.",
                {"path": "new"},
                "the folder has no project yet (setup_project)",
            ),
            (
                "Not this tool: it is loaded already.",
                {"path": "shop"},
                "the project is loaded and only to become current (switch_project)",
            ),
        ]
    },
    "switch_project": {
        "choice": [
            (
                "semantic_search looks at site; it should at shop.",
                {"name": "shop"},
                CURRENT,
                "query_entities, semantic_search",
            ),
            ("Query the classes of shop.", {"name": "shop"}, CURRENT, "query_entities"),
            ("Who calls Cart.total, in shop?", {"name": "shop"}, CURRENT, "explore_relationships"),
            ("Make the vectors of shop.", {"name": "shop"}, CURRENT, "generate_embeddings"),
            (
                "Several projects, another is current.",
                {"name": "shop"},
                "there are several projects and another one is current",
            ),
            ("Which name?", {"name": "shop"}, "The project's name, as list_projects has it."),
            ("Go back to site.", {"name": "site"}, CURRENT),
            ("For how long?", {"name": "shop"}, "for the rest of this run"),
            ("Not this tool: search all projects.", {"name": "shop"}, "you want to search all of them: brain_search"),
            ("Is it by name or by folder?", {"name": "shop"}, "The project's name"),
        ]
    },
    "unload_project": {
        "choice": [
            (
                "brain_search finds too much of old.",
                {"name": "old"},
                "what it holds is in the way of what you look for in all projects",
            ),
            ("Leave old out.", {"name": "old"}, UNLOADS),
            ("Is anything deleted?", {"name": "old"}, "Nothing is deleted."),
            ("Until when?", {"name": "old"}, UNLOADS),
            ("For other runs as well?", {"name": "old"}, "in other runs too"),
            ("How is it undone?", {"name": "old"}, "until load_project"),
            ("Which name?", {"name": "old"}, "The project's name, as list_projects has it."),
            (
                "Not this tool: work with another project.",
                {"name": "old"},
                "you want another current project (switch_project)",
            ),
            ("Not this tool: files were deleted.", {"name": "old"}, "files are gone (ingest_directory notices)"),
            ("Is it by name or by folder?", {"name": "old"}, "The project's name"),
        ]
    },
    "task_complete": {
        "end": [
            ("Done; say so in a sentence.", {"summary": "All tests pass."}, "Your answer is summary, then result"),
            (
                "A sentence and a table.",
                {"summary": "Three are late.", "result": "| a |\n|-|\n| b |"},
                "summary, then result, in Markdown",
            ),
            ("Where does the answer go?", {"summary": "42"}, "Your answer is summary, then result"),
            ("Say it first as text, then once more here?", {"summary": "42"}, "Your answer is summary"),
            ("Headings?", {"summary": "# Done"}, "in Markdown"),
            ("Only a short answer, and no call.", {"summary": "42"}, "Text without a call ends it too."),
            ("Does the run go on?", {"summary": "42"}, "End the run: done."),
            ("It is the long part that matters.", {"summary": "See below.", "result": "Long."}, "summary, then result"),
            ("Is result needed?", {"summary": "42"}, "summary"),
            ("It could not be done: not this tool.", {"summary": "42"}, "End the run: done."),
        ]
    },
}
