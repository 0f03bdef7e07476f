"""Access to the machine: files in granted folders, and commands."""
