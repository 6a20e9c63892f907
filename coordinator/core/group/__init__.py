"""Groups: members, rebalances, sessions. Pure functions of a group, a request and the event at hand."""
