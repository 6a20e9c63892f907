"""Access rules by Kafka's model (KIP-11, KIP-290): who may do what to which resource."""
