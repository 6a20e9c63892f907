"""The purgatory and its timing wheel: operations that wait for an event or a deadline."""
