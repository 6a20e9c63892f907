"""Tests of `coordinator groups`."""
