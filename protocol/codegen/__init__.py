"""How `protocol.generate` turns declarations into source: layouts, then decoders and encoders. Not used at run time."""
