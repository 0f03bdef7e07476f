"""Words, numbers and states that the window and the terminal share. No Qt."""
