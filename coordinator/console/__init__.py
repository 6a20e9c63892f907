"""The console: pages in a browser, and the JSON behind them, for this cluster or for one that is observed."""
