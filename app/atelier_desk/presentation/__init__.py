"""Text, numbers and states shared by window and terminal. No Qt."""
