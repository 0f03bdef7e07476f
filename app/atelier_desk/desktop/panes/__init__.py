"""The panes: tasks, memory, reports, activity, inbox and others."""
