"""Written by `python -m protocol.generate` from `protocol.messages`; never edited by hand."""
