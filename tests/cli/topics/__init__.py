"""Tests of `coordinator topics`."""
