"""Cards between the messages: tools, teams, limits, notices."""
