"""Limits on runs: budgets, loop guard, circuit breaker, permissions."""
