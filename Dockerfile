# Four images from one file: `docker build .` makes the daemon, `--target spark` the same with Spark and Java for
# `coordinator compact` and `coordinator history`, `--target clients` the clients of the test clusters, `--target
# postgres` a database for the profile `ha` of docker-compose.yml. Any setting can be given as a variable: COORDINATOR_
# or KAFKA_ and the key in upper case, with `_` for a dot (`docker run … coordinator config` lists the keys).
ARG BASE=python:3.12-slim

# -- installation: separate environments, so that the Python of the base image stays unchanged ------------------------
# Dependencies and code go into two layers: the first changes seldom (72 MB), the second has 18 MB.
FROM ${BASE} AS dependencies
RUN python -m venv /opt/dependencies
ENV PATH=/opt/dependencies/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY pyproject.toml ./
RUN mkdir coordinator protocol \
 && touch README.md LICENSE coordinator/__init__.py protocol/__init__.py \
 && pip install -q '.[postgres]' \
 && pip uninstall -y -q kafka-group-coordinator

FROM dependencies AS dependencies-spark
RUN pip install -q '.[spark]' && pip uninstall -y -q kafka-group-coordinator

FROM dependencies AS code
COPY README.md LICENSE ./
COPY protocol protocol
COPY coordinator coordinator
RUN pip install -q --no-deps --no-compile --target /opt/coordinator . \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/coordinator

# -- run time --------------------------------------------------------------------------------------------------------
# Two defaults have Kafka's prefix: variables of Kafka replace them, and those of this program are stronger anyway.
FROM ${BASE} AS runtime
ENV PATH=/opt/coordinator/bin:/opt/dependencies/bin:$PATH \
    PYTHONPATH=/opt/coordinator \
    PYTHONUNBUFFERED=1 \
    KAFKA_LISTENERS=0.0.0.0:9092 \
    KAFKA_LOG_DIRS=/var/lib/coordinator \
    COORDINATOR_HTTP_LISTEN=0.0.0.0:9080
RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/coordinator coordinator \
 && mkdir /var/lib/coordinator \
 && chown coordinator /var/lib/coordinator
WORKDIR /var/lib/coordinator
STOPSIGNAL SIGTERM
ENTRYPOINT ["coordinator"]

FROM runtime AS spark
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends default-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
COPY --from=dependencies-spark /opt/dependencies /opt/dependencies
COPY --from=code /opt/coordinator /opt/coordinator
USER coordinator
VOLUME /var/lib/coordinator
CMD ["compact", "--data-dir", "/var/lib/coordinator", "--watch"]

# Clients that work against a test cluster and record the acknowledged operations (tests/cluster/workload, tests/ha).
FROM dependencies AS clients
RUN pip install -q 'aiokafka>=0.12,<1' 'confluent-kafka>=2.6,<3' 'kafka-python>=3.0,<4' \
 && useradd --uid 10001 --no-create-home coordinator \
 && mkdir /diaries /history \
 && chown coordinator /diaries /history
COPY protocol protocol
COPY tests tests
USER coordinator
VOLUME /diaries
ENTRYPOINT ["python", "-m", "tests.cluster.workload.runner"]

# One of two PostgreSQL servers for tests of replication: tests/ha/containers/postgres.sh.
FROM ${BASE} AS postgres
RUN mkdir /etc/postgresql-common \
 && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends postgresql \
 && rm -rf /var/lib/apt/lists/* \
 && mkdir -p -m 700 /var/lib/postgresql/data \
 && mkdir /cluster \
 && chown postgres /var/lib/postgresql/data /cluster
COPY tests/ha/containers/postgres.sh /usr/local/bin/
USER postgres
STOPSIGNAL SIGINT
HEALTHCHECK --interval=2s --timeout=4s --start-period=60s --retries=5 CMD ["postgres.sh", "healthy"]
ENTRYPOINT ["postgres.sh"]

# It also stands in for a container of Kafka: docs/testcontainers.md. Testcontainers starts it by scripts with the paths
# of Kafka's images, and changes those in /etc/confluent/docker.
FROM runtime AS daemon
COPY --from=dependencies /opt/dependencies /opt/dependencies
COPY --from=code /opt/coordinator /opt/coordinator
COPY .docker/entrypoint /usr/local/bin/
COPY .docker/bin /usr/local/bin
COPY .docker/kafka /etc/kafka/docker
COPY .docker/confluent /etc/confluent/docker
RUN mkdir -p /var/lib/kafka/data && chown -R coordinator /var/lib/kafka /etc/confluent/docker
USER coordinator
VOLUME /var/lib/coordinator
EXPOSE 9092 9080
HEALTHCHECK --interval=2s --timeout=4s --start-period=60s --retries=3 CMD ["healthy"]
ENTRYPOINT ["entrypoint"]
CMD ["serve", "--as-kafka-container"]
