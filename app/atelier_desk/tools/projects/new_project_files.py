"""Files of a new project: a README, a .gitignore and a runnable first file."""

from __future__ import annotations

import json

_FIRST = {
    "python": ("main.py", 'def main() -> None:\n    print({said})\n\n\nif __name__ == "__main__":\n    main()\n'),
    "javascript": ("main.js", "console.log({said});\n"),
    "typescript": ("main.ts", "console.log({said});\n"),
    "rust": ("src/main.rs", 'fn main() {{\n    println!("{{}}", {said});\n}}\n'),
    "go": ("main.go", 'package main\n\nimport "fmt"\n\nfunc main() {{\n\tfmt.Println({said})\n}}\n'),
    "java": (
        "Main.java",
        (
            "public class Main {{\n    public static void main(String[] args) {{\n        "
            "System.out.println({said});\n  "
            "  }}\n}}\n"
        ),
    ),
    "c": ("main.c", "#include <stdio.h>\n\nint main(void) {{\n    puts({said});\n    return 0;\n}}\n"),
    "cpp": ("main.cpp", "#include <iostream>\n\nint main() {{\n    std::cout << {said} << '\\n';\n}}\n"),
    "csharp": ("Program.cs", "System.Console.WriteLine({said});\n"),
    "ruby": ("main.rb", "puts {said}\n"),
    "php": ("index.php", "<?php\n\necho {said}, PHP_EOL;\n"),
    "bash": ("main.sh", "#!/usr/bin/env bash\nset -eu\n\necho {said}\n"),
}
_IGNORED = {
    "python": "__pycache__/\n.venv/\n*.egg-info/\ndist/\n",
    "javascript": "node_modules/\ndist/\n",
    "typescript": "node_modules/\ndist/\n",
    "rust": "target/\n",
    "go": "bin/\n",
    "java": "*.class\ntarget/\nbuild/\n",
    "c": "*.o\nbuild/\n",
    "cpp": "*.o\nbuild/\n",
    "csharp": "bin/\nobj/\n",
    "ruby": ".bundle/\nvendor/\n",
    "php": "vendor/\n",
}
LANGUAGES = tuple(_FIRST)
"""Languages with a template."""


def basic(name: str, language: str) -> dict[str, str]:
    """Return the first files of a project by relative path; without a language there is no program among them."""
    title = " ".join(name.split())
    found = {"README.md": f"# {title}\n", ".gitignore": f".env\n{_IGNORED.get(language, '')}"}
    if language in _FIRST:
        # Only letters, digits and spaces: valid inside quotes of every language.
        plain = "".join(sign for sign in title if sign.isalnum() or sign in " -_") or "project"
        path, text = _FIRST[language]
        found[path] = text.format(said=json.dumps(f"Hello from {plain}", ensure_ascii=False))
    return found
