"""What was there before each change of a workspace, and how it comes back."""
