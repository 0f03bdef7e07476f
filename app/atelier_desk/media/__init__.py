"""Images and 3D models from untrusted files, processed in limited child processes."""
