"""Torture of consumer applications: generated schedules of faults, and what became of the records."""
