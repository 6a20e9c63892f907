"""The daemon's HTTP port: health, readiness and Prometheus metrics."""
