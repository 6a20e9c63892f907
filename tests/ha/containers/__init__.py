"""The check of tests/ha in containers: `python -m tests.ha.containers`, the profile `ha` of docker-compose.yml."""
