"""Panes of the right rail: tasks, memory, reports, activity and the inbox of questions."""
