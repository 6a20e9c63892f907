"""Fail-over under faults: clients that write a history, faults by a seeded schedule, and a checker that is exact."""
