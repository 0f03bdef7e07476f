"""One call of a tool: context, argument validation, outcome, limits of its result, next steps after an error."""
