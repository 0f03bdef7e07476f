"""Skills: instructions for particular tasks, taken up when they are needed."""
