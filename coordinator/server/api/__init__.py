"""One file per API key: wire versions stop here. `table.HANDLERS` is what is served."""
