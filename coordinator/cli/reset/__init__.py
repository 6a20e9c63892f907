"""`coordinator restore` and `coordinator undo`: reset committed offsets to values from the history."""
