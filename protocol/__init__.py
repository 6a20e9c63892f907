"""The Kafka wire protocol: bytes to messages and back. Pure, and of use without the coordinator.

Start with `protocol.codec` for requests and responses, `protocol.frames` and `protocol.headers` for what is around
them, `protocol.record_batch` for records. The messages are declared in `protocol.messages`, one module per API; what
encodes and decodes them is generated from there. Nothing is imported here, so that a program loads what it uses.
"""
