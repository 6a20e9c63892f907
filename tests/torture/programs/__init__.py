"""Consumer applications as users write them, one for each client library of Python."""
