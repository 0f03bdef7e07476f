"""Bounds: budgets, loop guard, circuit breaker."""
