"""Checks of logs on disk (`coordinator log verify`), and their repair (`coordinator log repair`)."""
