FROM python:3.12-slim

# An environment of its own: the base image's Python stays as it is, and only one directory is ours.
RUN python -m venv /opt/coordinator
ENV PATH=/opt/coordinator/bin:$PATH

# Dependencies first: they change less often than the code, and this layer then comes from the cache.
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
RUN mkdir coordinator protocol \
 && touch coordinator/__init__.py protocol/__init__.py \
 && pip install --no-cache-dir . \
 && pip uninstall -y -q kafka-group-coordinator

COPY protocol protocol
COPY coordinator coordinator
RUN pip install --no-cache-dir --no-deps . && rm -rf /src/*

# Clients outside the container need another address than the one bound: see COORDINATOR_ADVERTISED_LISTENERS in
# docker-compose.yml. Any setting can be given as an environment variable.
ENV COORDINATOR_LISTENERS=0.0.0.0:9092 \
    COORDINATOR_HTTP_LISTEN=0.0.0.0:9080 \
    COORDINATOR_LOG_DIRS=/data \
    PYTHONUNBUFFERED=1

RUN useradd --uid 10001 --no-create-home --home-dir /data coordinator \
 && mkdir /data \
 && chown coordinator /data
USER coordinator
WORKDIR /data
VOLUME /data
EXPOSE 9092 9080

HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9080/readyz', timeout=3)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["coordinator"]
CMD ["serve"]
