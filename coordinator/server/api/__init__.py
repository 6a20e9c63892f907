"""The handlers, by API key. Wire versions are handled in this package alone; `table.HANDLERS` has all rows."""
