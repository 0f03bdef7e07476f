"""Skills, commands and agents in the formats of other programs: Markdown files with a YAML header."""
