"""Tests of coordinator.core.events."""
