"""The pane of files: the folders agents may use, and what they changed there."""
