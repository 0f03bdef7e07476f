"""Skills: task-specific instructions, loaded on demand."""
