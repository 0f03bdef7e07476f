"""Rows of a workflow that stream events keep current, as plain data: transcript, team, activity. No Qt."""
