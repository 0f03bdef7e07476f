"""Questions of agents on the screen: the queue, the dialog over the workflow's view, and the presenter that brings them together."""
