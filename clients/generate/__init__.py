"""Writes the verbs of the packages in clients/ from those of `coordinator.testing.verbs`."""
