"""The Kafka wire protocol: bytes to messages and back. Pure, and of use without the coordinator.

Start with `protocol.client` for a client, with `protocol.frames`, `protocol.headers` and `protocol.codec` for a server,
and with `protocol.record_batch` for records. The messages are declared in `protocol.messages`, one module per API, and
their encoders and decoders are generated from the declarations. This module imports nothing, so that a program loads
only what it uses.
"""
