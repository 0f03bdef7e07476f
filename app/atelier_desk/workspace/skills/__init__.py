"""Skills, commands and agents as other programs write them: Markdown files with a header in YAML."""
