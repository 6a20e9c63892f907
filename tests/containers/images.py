"""The variables that compose files set for three images of Kafka, by the name of the image.

Each has a client of its network at kafka:29092 and one of the machine at localhost:9092. Source: the examples in
`docker/examples` of Apache Kafka, of Confluent's cp-all-in-one, and of Bitnami's README.
"""

from __future__ import annotations

from typing import Final

_KRAFT: Final = {
    "NODE_ID": "1",
    "PROCESS_ROLES": "broker,controller",
    "CONTROLLER_QUORUM_VOTERS": "1@kafka:29093",
    "CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "LISTENERS": "CONTROLLER://kafka:29093,PLAINTEXT_HOST://0.0.0.0:9092,PLAINTEXT://0.0.0.0:29092",
    "ADVERTISED_LISTENERS": "PLAINTEXT_HOST://localhost:9092,PLAINTEXT://kafka:29092",
    "LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
    "INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
    "SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
    "LOG_RETENTION_HOURS": "168",
    "NUM_PARTITIONS": "1",
    "AUTO_CREATE_TOPICS_ENABLE": "true",
}

IMAGES: Final[dict[str, dict[str, str]]] = {
    "none": {},
    "apache/kafka": {
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "KAFKA_LOG_DIRS": "/tmp/kraft-combined-logs",
        "KAFKA_HEAP_OPTS": "-Xmx512M",
        **{f"KAFKA_{key}": value for key, value in _KRAFT.items()},
    },
    "confluentinc/cp-kafka": {
        "KAFKA_BROKER_ID": "1",
        "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:29092,PLAINTEXT_HOST://localhost:9092",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
        "KAFKA_CONFLUENT_LICENSE_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_METRIC_REPORTERS": "io.confluent.metrics.reporter.ConfluentMetricsReporter",
        "KAFKA_JMX_PORT": "9101",
        "KAFKA_JMX_HOSTNAME": "localhost",
        "KAFKA_LOG4J_LOGGERS": "kafka.controller=INFO",
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL": "ERROR",
        "KAFKA_LOG_DIRS": "/var/lib/kafka/data",
    },
    "bitnami/kafka": {
        "ALLOW_PLAINTEXT_LISTENER": "yes",
        "KAFKA_ENABLE_KRAFT": "yes",
        "KAFKA_KRAFT_CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "BITNAMI_DEBUG": "false",
        **{f"KAFKA_CFG_{key}": value for key, value in _KRAFT.items()},
        "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT_HOST://localhost:9092,PLAINTEXT://:29092",
    },
}
