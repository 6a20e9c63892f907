"""A report on the past of all groups: findings with their cost and advice, from the events in a history."""
