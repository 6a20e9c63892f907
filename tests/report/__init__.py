"""Tests of `coordinator.report`."""
