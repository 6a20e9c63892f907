"""The names of Kafka's broker settings that this daemon does not have.

A server.properties written for a Kafka broker should start this daemon unchanged. Names in this list are accepted and
ignored with one warning; a name that is in neither this list nor `config.py` is taken for a spelling mistake.
Families of settings (ssl, sasl, quotas) are listed by prefix. Source: the broker settings of Kafka 2.8 to 4.0.
"""

from __future__ import annotations

from typing import Final

KAFKA_PREFIXES: Final = (
    "config.providers.",
    "controller.",
    "group.share.",
    "leader.",
    "listener.name.",
    "metadata.",
    "metrics.context.",
    "metrics.jmx.",
    "password.encoder.",
    "quorum.",
    "quota.",
    "remote.",
    "replica.",
    "replication.quota.",
    "sasl.",
    "share.coordinator.",
    "ssl.",
    "zookeeper.",
)

KAFKA_KEYS: Final = frozenset(
    """
    advertised.host.name advertised.port alter.config.policy.class.name
    alter.config.policy.kafka.class.name alter.log.dirs.replication.quota.window.num
    alter.log.dirs.replication.quota.window.size.seconds
    auto.include.jmx.reporter auto.leader.rebalance.enable background.threads
    broker.heartbeat.interval.ms broker.id.generation.enable broker.rack broker.session.timeout.ms
    client.quota.callback.class client.quota.max.throttle.time.ms compression.gzip.level compression.lz4.level
    compression.type compression.zstd.level config.providers
    controlled.shutdown.enable controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
    create.topic.policy.class.name default.replication.factor delegation.token.expiry.check.interval.ms
    delegation.token.expiry.time.ms delegation.token.master.key delegation.token.max.lifetime.ms
    delegation.token.secret.key delete.records.purgatory.purge.interval.requests delete.topic.enable
    early.start.listeners eligible.leader.replicas.enable fetch.purgatory.purge.interval.requests
    group.coordinator.append.linger.ms group.coordinator.new.enable group.coordinator.threads
    group.consumer.assignment.interval.ms group.consumer.assignor.offload.enable
    group.consumer.max.assignment.interval.ms group.consumer.min.assignment.interval.ms
    host.name initial.broker.registration.timeout.ms inter.broker.protocol.version
    internal.metadata.delete.delay.millis
    kafka.metrics.polling.interval.secs kafka.metrics.reporters
    log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.enable log.cleaner.io.buffer.load.factor
    log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second log.cleaner.threads
    log.cleanup.policy log.delete.delay.ms log.dir.failure.timeout.ms
    log.flush.interval.messages log.flush.offset.checkpoint.interval.ms
    log.flush.start.offset.checkpoint.interval.ms log.index.size.max.bytes log.initial.task.delay.ms
    log.local.retention.bytes log.local.retention.ms log.message.downconversion.enable log.message.format.version
    log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
    log.message.timestamp.difference.max.ms log.preallocate log.roll.jitter.hours
    log.roll.jitter.ms log.segment.delete.delay.ms max.connection.creation.rate max.connections.per.ip.overrides
    max.incremental.fetch.session.cache.slots max.request.partition.size.limit metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms
    min.insync.replicas num.io.threads num.network.threads num.quota.samples
    num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads num.replica.fetchers
    offsets.commit.required.acks offsets.topic.compression.codec offsets.topic.replication.factor port
    principal.builder.class process.roles producer.id.expiration.check.interval.ms
    producer.purgatory.purge.interval.requests queued.max.requests request.timeout.ms
    reserved.broker.max.id security.inter.broker.protocol security.providers server.max.startup.time.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms socket.listen.backlog.size
    socket.receive.buffer.bytes socket.send.buffer.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.partition.verification.enable
    transaction.state.log.compression.codec transaction.state.log.load.buffer.size
    transaction.state.log.min.isr transaction.state.log.replication.factor
    transaction.two.phase.commit.enable unclean.leader.election.enable
    unclean.leader.election.interval.ms unstable.api.versions.enable unstable.feature.versions.enable
    """.split()  # noqa: SIM905 - one name per line would be ninety lines
)
