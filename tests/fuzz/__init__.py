"""Fuzzing: arbitrary bytes for the decoders, for a running daemon and for the files of a start. See docs/fuzzing.md."""
