"""The files of a workflow's workspace: reading, finding, changing. The section is declared in ``sections``."""
