"""What touches the machine: files under a granted folder, and commands."""
