"""Settings: accepted values, precedence of sources, and error messages."""

from __future__ import annotations

import ast
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import INT32_MAX, OTHER_NAMES, Config, Key, keys
from coordinator.config.environment import setting_variables
from coordinator.config.kafka_keys import KAFKA_KEYS, KAFKA_PREFIXES
from coordinator.config.sources import load
from coordinator.config.values import Address, ConfigError, parse_address, parse_parked_clients, parse_topics

# Kafka's documented defaults, for the keys whose defaults are the same here.
SAME_AS_KAFKA = {
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1800000,
    "group.initial.rebalance.delay.ms": 3000,
    "group.max.size": 2147483647,
    "offsets.topic.segment.bytes": 104857600,
    "offsets.load.buffer.size": 5242880,
    "offsets.retention.minutes": 10080,
    "offsets.retention.check.interval.ms": 600000,
    "offsets.commit.timeout.ms": 5000,
    "offset.metadata.max.bytes": 4096,
    "socket.request.max.bytes": 104857600,
    "max.connections.per.ip": 2147483647,
    "connections.max.idle.ms": 600000,
    "log.roll.ms": 604800000,
    "log.message.timestamp.type": "CreateTime",
    "log.index.interval.bytes": 4096,
    "log.retention.ms": 604800000,
    "log.retention.bytes": -1,
    "log.retention.check.interval.ms": 300000,
    "message.max.bytes": 1048588,
    "auto.create.topics.enable": True,
    "num.partitions": 1,
    "fetch.max.bytes": 57671680,
    "producer.id.expiration.ms": 86400000,
    "log.cleaner.min.cleanable.ratio": 0.5,
    "log.cleaner.min.compaction.lag.ms": 0,
    "log.cleaner.max.compaction.lag.ms": 9223372036854775807,
    "log.cleaner.delete.retention.ms": 86400000,
}


@pytest.mark.parametrize("name", SAME_AS_KAFKA)
def test_a_key_of_kafkas_has_kafkas_default(name: str) -> None:
    assert keys()[name].default == SAME_AS_KAFKA[name]
    assert not keys()[name].ours


def test_without_any_source_all_settings_have_their_defaults() -> None:
    assert load() == Config()


@pytest.mark.parametrize("key", keys().values(), ids=list(keys()))
def test_every_default_is_valid_as_text(key: Key) -> None:
    written = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
    assert key.parse(written) == key.default
    assert key.help.endswith(".")


@pytest.mark.parametrize("key", keys().values(), ids=list(keys()))
def test_every_key_can_be_set_from_the_environment(key: Key) -> None:
    written = {"int": "70000000", "long": "70000000", "boolean": "FALSE"}.get(key.type, str(key.default))
    if key.maximum is not None:
        written = str(key.maximum)
    variables = {key.environment: written, "COORDINATOR_GROUP_MAX_SESSION_TIMEOUT_MS": "80000000"}
    variables["COORDINATOR_SOCKET_REQUEST_MAX_BYTES"] = (
        "70000000"  # the setting with an address, and the property that parses it
    )
    variables["COORDINATOR_GROUP_CONSUMER_SESSION_TIMEOUT_MS"] = "80000000"
    if key.name in (
        "group.max.session.timeout.ms",
        "socket.request.max.bytes",
        "group.consumer.session.timeout.ms",
    ):
        variables[key.environment] = written
    config = load(environ=variables)
    assert getattr(config, key.attribute) == key.parse(written)


def test_the_nodes_of_a_cluster_are_in_order_of_their_ids() -> None:
    config = load(overrides=["cluster.nodes=3@[::1]:7, 1@a:9", "node.id=3"])
    assert list(config.node_addresses.items()) == [(1, Address("a", 9)), (3, Address("::1", 7))]
    assert Config().node_addresses == {}


def test_a_node_must_be_one_of_the_nodes_of_its_cluster() -> None:
    with pytest.raises(ConfigError, match=r"cluster.nodes has the nodes 2, 3, but node.id is 1; set node.id to the"):
        load(overrides=["cluster.nodes=2@a:1,3@b:1"])


def test_a_node_of_a_cluster_advertises_its_address_in_cluster_nodes() -> None:
    same = ["cluster.nodes=1@a:9,2@b:9", "advertised.listeners=a:9"]
    assert load(overrides=same).advertised_address == Address("a", 9)
    with pytest.raises(ConfigError, match=r"remove advertised.listeners, since cluster.nodes is what clients are told"):
        load(overrides=["cluster.nodes=1@a:9,2@b:9", "advertised.listeners=c:9"])


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().group_max_size = 3  # type: ignore[misc]


SOURCES = [
    ("default", {}, INT32_MAX),
    ("file", {"file_text": "group.max.size=1"}, 1),
    ("environment", {"environ": {"COORDINATOR_GROUP_MAX_SIZE": "2"}}, 2),
    ("override", {"overrides": ["group.max.size=3"]}, 3),
    ("flag", {"flags": {"group.max.size": "4"}}, 4),
]


@pytest.mark.parametrize("strongest", range(len(SOURCES)), ids=[source[0] for source in SOURCES])
def test_sources_take_precedence_in_their_order(strongest: int) -> None:
    given: dict[str, object] = {}
    for _, arguments, _ in SOURCES[: strongest + 1]:
        given.update(arguments)
    assert load(**given).group_max_size == SOURCES[strongest][2]  # type: ignore[arg-type]


def test_the_last_of_two_entries_of_one_source_applies() -> None:
    assert load("num.partitions=2\nnum.partitions=3").num_partitions == 3
    assert load(overrides=["num.partitions=4", "num.partitions=5"]).num_partitions == 5


def test_a_value_may_be_surrounded_by_blanks_and_contain_equal_signs() -> None:
    assert load("num.partitions =  7  ").num_partitions == 7
    assert load(overrides=["cluster.id=a=b"]).cluster_id == "a=b"


MISTAKES = [
    ("group.max.siz=1", "there is no setting 'group.max.siz'; did you mean group.max.size?"),
    ("log.retention.hour=1", "there is no setting 'log.retention.hour'; did you mean log.retention.hours?"),
    ("qwertz=1", "there is no setting 'qwertz'; `coordinator config` lists them all"),
    ("group.max.size=many", "group.max.size must be a whole number (at least 1), not 'many'"),
    ("group.max.size=1_000", "group.max.size must be a whole number (at least 1), not '1_000'"),
    ("group.max.size=1.5", "group.max.size must be a whole number (at least 1), not '1.5'"),
    ("group.max.size=", "group.max.size must be a whole number (at least 1), not ''"),
    ("group.max.size=0", "group.max.size must be 1 to 2147483647, not 0"),
    ("group.max.size=2147483648", "group.max.size must be 1 to 2147483647, not 2147483648"),
    ("log.retention.ms=-2", "log.retention.ms must be -1 to 9223372036854775807, not -2"),
    ("offsets.topic.num.partitions=10001", "offsets.topic.num.partitions must be 1 to 10000, not 10001"),
    ("auto.create.topics.enable=yes", "auto.create.topics.enable must be true or false, not 'yes'"),
    ("log.flush.policy=often", "log.flush.policy must be sync or interval or never, not 'often'"),
    ("listeners=9092", "listeners: '9092' is not an address; write host:port, for example 127.0.0.1:9092"),
    ("listeners=a:99999", "listeners: 'a:99999' is not an address; write host:port, for example 127.0.0.1:9092"),
    ("listeners=a:1,b:2", "listeners: 'b:2' is a second listener named PLAINTEXT; give each a name of its own"),
    ("advertised.listeners=:9092", "advertised.listeners: ':9092' is no address that a client can connect to"),
    ("cluster.nodes=1", "cluster.nodes: '1' must be a node id of 0 to 8388606 and an address, as in 1@host:9092"),
    ("cluster.nodes=8388607@a:1", "cluster.nodes: '8388607@a:1' must be a node id of 0 to 8388606"),
    ("cluster.nodes=1@:9092", "cluster.nodes: '1@:9092' has no address that others can connect to"),
    ("cluster.nodes=1@a:0", "cluster.nodes: '1@a:0' has no address that others can connect to"),
    ("cluster.nodes=1@a:1,1@b:1", "cluster.nodes: '1@b:1' repeats an id or an address of another entry"),
    ("cluster.nodes=1@a:1,2@a:1", "cluster.nodes: '2@a:1' repeats an id or an address of another entry"),
    ("log.dirs=/a,/b", "log.dirs: '/a,/b' must be exactly one directory"),
    ("http.listen=nowhere", "http.listen: 'nowhere' is not an address; write host:port"),
    ("topics.preload=or ders:3", "topics.preload: 'or ders' is not a topic name"),
    ("topics.preload=orders:0", "topics.preload: 'orders:0' must give a number of partitions of at least 1"),
    ("log.cleaner.min.cleanable.ratio=1.5", "log.cleaner.min.cleanable.ratio must be a number (0 to 1), not '1.5'"),
    ("log.cleaner.min.cleanable.ratio=-1", "log.cleaner.min.cleanable.ratio must be a number (0 to 1), not '-1'"),
    ("log.cleaner.min.cleanable.ratio=nan", "log.cleaner.min.cleanable.ratio must be a number (0 to 1), not 'nan'"),
    ("compaction.command='a", 'compaction.command: "\'a" cannot be split into words (No closing quotation)'),
    ("log.retention.hours=x", "log.retention.hours sets log.retention.ms, and log.retention.ms must be a whole number"),
]


@pytest.mark.parametrize(("text", "sentence"), MISTAKES)
def test_an_error_is_one_sentence_with_a_remedy_and_a_place(text: str, sentence: str) -> None:
    for source, where in (
        ({"file_text": "\n" + text, "file_name": "my.properties"}, "(my.properties, line 2)"),
        ({"overrides": [text]}, f"(--override {text})"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(**source)  # type: ignore[arg-type]
        assert str(caught.value).startswith(sentence)
        assert str(caught.value).endswith(where)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://db/kgc", "log.engine: 'mysql' is not a store; write files, or postgresql://host:5432/database or "),
        ("postgresql:///kgc", "log.engine: 'postgresql' is not a store"),
        ("postgresql://kgc:hunter2@db/kgc", "log.engine: it holds a password; write that into a file, and name the "),
        ("postgresql://db/kgc?password=hunter2", "log.engine: it holds a password"),
        ("postgresql://kgc:a/hunter2@db/kgc", "log.engine: it holds a password"),
        ("postgresql://kgc:12/hunter2@db/kgc", "log.engine: it holds a password"),
        ("postgresql://kgc:#hunter2@db/kgc", "log.engine: it holds a password"),
        ("postgresql://kgc:?hunter2@db/kgc", "log.engine: it holds a password"),
        ("postgresql://kgc:://hunter2@db/kgc", "log.engine: it holds a password"),
        ("postgresql://kgc:[hunter2@db/kgc", "log.engine: it holds a password"),
        ("kafka://kgc:a/hunter2@db:9092/topic", "log.engine: it holds a password"),
        ("kgc:hunter2@db/kgc", "log.engine: it holds a password"),
        ("host=db user=kgc password = hunter2", "log.engine: it holds a password"),
        ("hunter2", "log.engine: it is not a store; write files, or postgresql://"),
        ("postgresql://hunter2[db/kgc", "log.engine: it is not the address of a store; write files, or postgresql://"),
    ],
)
def test_a_store_is_named_without_its_password(address: str, sentence: str) -> None:
    for source in ({"file_text": f"log.engine={address}"}, {"overrides": [f"log.engine={address}"]}):
        with pytest.raises(ConfigError) as caught:
            load(**source)  # type: ignore[arg-type]
        assert str(caught.value).startswith(sentence)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://kgc@db1:6000,db2:6000/kgc",
        "postgresql://kgc@[::1]:6000/kgc?sslmode=require",
        "postgresql://db:6000/kgc?user=kgc%40corp",
        "postgres://db/kgc?user=kgc@corp",
        "kafka://broker1:9092,broker2:9092/topic",
    ],
)
def test_an_address_without_a_password_is_kept(address: str) -> None:
    assert load(overrides=[f"log.engine={address}", "cluster.id=c"]).log_engine == address


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ([], "log.engine is shared by the nodes of a cluster; set cluster.id"),
        (["cluster.id=c", "workers=2"], "workers and log.engine both divide the partitions"),
        (["cluster.id=c", "topics.storage=local"], "topics.storage=local with log.engine needs cluster.nodes"),
        (["cluster.id=c", "topics.preload=orders:3"], "topics.preload names topics, but topics.storage is off"),
        (["cluster.id=c", "cluster.heartbeat.ms=1001"], "cluster.heartbeat.ms .1001. is more than a third of"),
    ],
)
def test_settings_that_contradict_a_shared_store_are_refused(settings: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(overrides=["log.engine=postgresql://db/kgc", *settings])


def test_topics_are_off_with_a_shared_store_unless_they_are_asked_for() -> None:
    shared = ["log.engine=postgresql://db/kgc", "cluster.id=c"]
    local = [*shared, "topics.storage=local", "cluster.nodes=1@a:9"]
    kinds = (load(), load(overrides=["topics.storage=off"]), load(overrides=shared), load(overrides=local))
    assert [config.has_topics for config in kinds] == [True, False, False, True]
    assert [config.is_shared for config in kinds] == [False, False, True, True]


def test_an_override_without_a_value_is_refused_with_its_syntax() -> None:
    with pytest.raises(ConfigError, match=r"--override 'num.partitions' has no value; write --override key=value"):
        load(overrides=["num.partitions"])


@pytest.mark.parametrize(
    "override", ["log.engin=postgresql://u:hunter2@db/kgc", "log.engine postgresql://u:hunter2@db/kgc"]
)
def test_a_mistyped_override_does_not_show_a_password(override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, [override], {})
    assert "hunter2" not in str(caught.value)


def test_an_error_in_the_environment_names_the_variable() -> None:
    with pytest.raises(
        ConfigError, match=r"did you mean group\.max\.size\? \(in the environment, COORDINATOR_GROUP_MAX_SZE\)"
    ):
        load(environ={"COORDINATOR_GROUP_MAX_SZE": "3"})


def test_an_error_in_a_properties_file_names_the_file() -> None:
    with pytest.raises(ConfigError, match=r"a\.conf is not a properties file: line 1"):
        load(r"a=\u1", file_name="a.conf")


def test_the_shortest_session_timeout_may_not_be_above_the_longest() -> None:
    with pytest.raises(ConfigError, match=r"min\.session\.timeout\.ms \(9\) is above .*max.* \(8\); lower the first"):
        load("group.min.session.timeout.ms=9\ngroup.max.session.timeout.ms=8")


def test_a_batch_must_fit_into_a_request() -> None:
    with pytest.raises(ConfigError, match=r"message\.max\.bytes .* could never arrive; raise the second"):
        load("socket.request.max.bytes=1000")


def test_preloaded_topics_must_fit_the_limits() -> None:
    with pytest.raises(ConfigError, match=r"topics\.preload asks for 2 topics with 5 partitions"):
        load("topics.preload=a:2,b:3\nmax.partitions=4")


def test_kubernetes_variables_of_a_service_named_coordinator_are_ignored() -> None:
    links = {
        "COORDINATOR_SERVICE_HOST": "10.0.0.1",
        "COORDINATOR_SERVICE_PORT": "9092",
        "COORDINATOR_SERVICE_PORT_KAFKA": "9092",
        "COORDINATOR_PORT": "tcp://10.0.0.1:9092",
        "COORDINATOR_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "COORDINATOR_PORT_9092_TCP_ADDR": "10.0.0.1",
    }
    assert load(environ=links) == Config()


def test_variables_that_are_read_elsewhere_are_not_settings() -> None:
    environ = {"COORDINATOR_EVENT_LOOP": "asyncio", "COORDINATOR_BOOTSTRAP_SERVER": "127.0.0.1:1"}
    assert load(environ=environ) == Config()


# Kafka's config/server.properties in its KRaft form, without the comments.
STOCK_FILE = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_kafkas_server_properties_are_accepted_with_one_warning() -> None:
    warnings: list[str] = []
    config = load(STOCK_FILE, warn=warnings.append)
    assert config.listen_address == ("0.0.0.0", 9092)
    assert config.advertised_address == ("localhost", 9092)
    assert config.log_dirs == "/tmp/kraft-combined-logs"
    assert config.log_retention_ms == 168 * 3600 * 1000
    (warning,) = warnings
    assert warning.startswith("ignored settings of Kafka's that mean nothing here: controller.listener.names,")
    assert "num.io.threads" in warning


def test_a_finer_unit_takes_precedence_over_a_coarser_one_of_the_same_source() -> None:
    for text in (
        "log.retention.ms=5\nlog.retention.minutes=1\nlog.retention.hours=1",
        "log.retention.hours=1\nlog.retention.minutes=1\nlog.retention.ms=5",
    ):
        assert load(text).log_retention_ms == 5
    assert load("log.retention.minutes=2\nlog.retention.hours=1").log_retention_ms == 120_000
    assert load("log.retention.hours=1\nlog.retention.minutes=2").log_retention_ms == 120_000
    assert (
        load("log.retention.ms=5", ["log.retention.hours=1"]).log_retention_ms == 3_600_000
    )  # a source that takes precedence
    assert load("log.retention.hours=-1").log_retention_ms == -1


def test_no_name_is_both_a_setting_and_an_ignored_name() -> None:
    understood = {*keys(), *OTHER_NAMES}
    assert understood & KAFKA_KEYS == set()
    partly = ("sasl.", "ssl.")  # families of which some are served
    assert [name for name in understood if name.startswith(KAFKA_PREFIXES) and not name.startswith(partly)] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        (" localhost:0 ", ("localhost", 0)),
        (":9092", ("0.0.0.0", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        ("[::]:9092", ("::", 9092)),
        ("PLAINTEXT://a.b:1", ("a.b", 1)),
        ("plaintext://:1", ("0.0.0.0", 1)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address
    assert parse_address(str(Address(*address))) == address


@pytest.mark.parametrize("text", ["", ":", "a", "a:", "a:b", "::1:9092", "a:-1", "a:65536", "a:٣"])
def test_text_that_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_address(text)


def test_http_can_be_switched_off() -> None:
    assert load(flags={"http.listen": "off"}).http_address is None
    assert load(flags={"http.listen": "OFF"}).http_address is None
    assert load(flags={"http.listen": ":8080"}).http_address == ("0.0.0.0", 8080)


def test_whether_the_http_port_was_asked_for_is_known_from_every_source() -> None:
    default = Config().http_listen
    assert not load().is_http_given
    assert load(f"http.listen={default}").is_http_given
    assert load(environ={"COORDINATOR_HTTP_LISTEN": default}).is_http_given
    assert load(overrides=[f"http.listen={default}"]).is_http_given
    assert load(flags={"http.listen": default}).is_http_given


def test_preloaded_topics_are_names_with_partitions() -> None:
    assert load(flags={"topics.preload": "orders:12, pay.ments:3 ,x"}).preloaded_topics == {
        "orders": 12,
        "pay.ments": 3,
        "x": 1,
    }
    assert load("num.partitions=5", flags={"topics.preload": "x"}).preloaded_topics == {"x": 5}
    assert parse_topics("") == {}


@pytest.mark.parametrize("entry", ["*", "s*", "sarama", "kafka*", "kafka-*", "kafkajs", "kafka-go*"])
@pytest.mark.parametrize("key", ["group.heartbeat.park.clients", "group.heartbeat.park.client.ids"])
def test_clients_that_stop_consuming_cannot_be_parked(key: str, entry: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{entry!r} includes ") + r".* while a heartbeat is parked; name "):
        load(f"{key}=kgo,{entry}")


def test_clients_to_be_parked_are_names_and_beginnings_of_names() -> None:
    names = parse_parked_clients(" kgo , confluent-kafka-*,, rdk*")
    assert [
        name
        for name in ("kgo", "kgo1", "confluent-kafka-dotnet", "confluent-kafka", "rdkafka-ruby", "", "*")
        if names.include(name)
    ] == ["kgo", "confluent-kafka-dotnet", "rdkafka-ruby"]
    assert not parse_parked_clients("").include("kgo")
    with pytest.raises(ConfigError, match=r"'k\*o' has a \* before its end"):
        parse_parked_clients("k*o")


@given(st.text(), st.text())
def test_any_file_gives_a_config_or_an_error_of_one_sentence(name: str, value: str) -> None:
    for text in (f"{name}={value}", name + value):
        try:
            load(text)
        except ConfigError as error:
            assert str(error)


def test_every_setting_is_used_in_the_code() -> None:
    """`coordinator config` must not list a setting without effect."""
    package = Path(__file__).resolve().parents[2] / "coordinator"
    settings = ("config.py", "sources.py")  # declaring and checking a setting is not a use
    source = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py") if path.name not in settings)
    words = set(re.findall(r"\w+", source))
    (config,) = [
        node
        for node in ast.parse((package / "config" / "config.py").read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == "Config"
    ]
    for method in config.body:
        if (
            isinstance(method, ast.FunctionDef) and method.name in words
        ):  # settings read by a property that other modules use
            words |= {node.attr for node in ast.walk(method) if isinstance(node, ast.Attribute)}
    assert [key.name for key in keys().values() if key.attribute not in words] == []


def test_variables_of_kafkas_images_set_the_same_keys() -> None:
    assert load(environ={"KAFKA_GROUP_MAX_SIZE": "7"}).group_max_size == 7


def test_a_coordinator_variable_takes_precedence_over_a_kafka_variable() -> None:
    assert load(environ={"KAFKA_GROUP_MAX_SIZE": "7", "COORDINATOR_GROUP_MAX_SIZE": "8"}).group_max_size == 8


def test_kafka_variables_without_a_setting_cause_one_warning() -> None:
    said: list[str] = []
    variables = {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_CLUSTER___NAME__X": "a", "KAFKA_GROUP_MAX_SIZE": "7"}
    assert load(environ=variables, warn=said.append).group_max_size == 7
    assert said == [
        "ignored variables in the environment that name no setting: KAFKA_CLUSTER___NAME__X, KAFKA_HEAP_OPTS"
    ]


def test_a_wrong_value_in_a_kafka_variable_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigError, match=r"KAFKA_GROUP_MAX_SIZE"):
        load(environ={"KAFKA_GROUP_MAX_SIZE": "many"})


@pytest.mark.parametrize(
    ("variable", "key"),
    [("COORDINATOR_A_B", "a.b"), ("KAFKA_A__B_C", "a_b.c"), ("KAFKA_A___B", "a-b"), ("COORDINATOR_A___B__C", "a-b_c")],
)
def test_underscores_in_a_variable_stand_for_dots_underscores_and_dashes(variable: str, key: str) -> None:
    (found,) = setting_variables({variable: "x"})
    assert (found.key, found.value) == (key, "x")


def test_a_limit_below_one_whole_request_is_refused_with_both_names() -> None:
    with pytest.raises(ConfigError, match=r"queued\.max\.request\.bytes \(5\) is below socket\.request\.max\.bytes"):
        load(environ={"COORDINATOR_QUEUED_MAX_REQUEST_BYTES": "5"})
    assert load(environ={"COORDINATOR_QUEUED_MAX_REQUEST_BYTES": "-1"}).queued_max_request_bytes == -1


def test_a_secret_is_not_shown() -> None:
    config = load("test.verbs.token=s3cret")
    assert config.test_verbs_token == "s3cret"
    assert "s3cret" not in repr(config)
    assert keys()["test.verbs.token"].type == "password"
