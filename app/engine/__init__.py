"""The run: journal, reducer, driver, context; and the services the screens call. No Qt."""
