"""Pictures and 3D models: what a stranger's file says, worked out by processes with limits."""
