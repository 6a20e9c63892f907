"""The messages of the Kafka protocol, one module per API. This module imports nothing; import the modules you need."""
