"""The event loop: connections, dispatch of requests, execution of effects, and the order of start and stop."""
