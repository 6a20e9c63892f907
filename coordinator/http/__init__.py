"""The HTTP port: probes, metrics, the console and the verbs of tests."""
