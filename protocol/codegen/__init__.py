"""Turns declarations into source for `protocol.generate`: layouts, then decoders and encoders. Not used at run time."""
