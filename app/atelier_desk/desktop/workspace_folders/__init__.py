"""Workspace folders of a workflow: granting, revoking, and trust."""
