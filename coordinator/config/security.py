"""The settings of TLS, SASL and access rules, under Kafka's names.

Most of them may be set for one listener, as `listener.name.external.ssl.client.auth`; settings of one mechanism have
its name in front, as `listener.name.external.plain.sasl.jaas.config`. Source: Kafka's `BrokerSecurityConfigs`,
`SslConfigs` and `SaslConfigs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coordinator.config.key import key as _key
from coordinator.config.listeners import OWN_NAMES, parse_protocol_map
from coordinator.config.values import ConfigError

OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
STORE_TYPES: Final = ("PEM", "PKCS12")
AUTHORIZERS: Final = (
    "",
    "acl",
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
)


def parse_mechanisms(text: str) -> tuple[str, ...]:
    """Parse `PLAIN,SCRAM-SHA-512` into names, in the order written."""
    names = tuple(dict.fromkeys(entry.strip().upper() for entry in text.split(",") if entry.strip()))
    for name in names:
        if name not in MECHANISMS:
            raise ConfigError(f"{name!r} is not served; choose from {', '.join(MECHANISMS)}")
    return names


def parse_authorizer(text: str) -> bool:
    """Return whether access rules are on."""
    if text not in AUTHORIZERS:
        raise ConfigError(
            f"{text!r} is not served; write `acl` or the name of Kafka's StandardAuthorizer, or leave it empty for no "
            "access rules"
        )
    return text != ""


def parse_super_users(text: str) -> frozenset[str]:
    """Parse `User:admin;User:ops` into principals."""
    principals = frozenset(entry.strip() for entry in text.split(";") if entry.strip())
    for each in principals:
        if ":" not in each:
            raise ConfigError(f"expected a string in format principalType:principalName but got {each}")
    return principals


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """The settings of `Config` that are about TLS, SASL and access rules."""

    listener_security_protocol_map: str = _key(
        OWN_NAMES,
        "The security protocol of each listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
        check=parse_protocol_map,
        shape="NAME:PROTOCOL,...",
    )
    inter_broker_listener_name: str = _key(
        "",
        "The listener over which the nodes of a cluster connect to each other. Empty: the first one.",
        shape="NAME",
    )
    # --- TLS ---
    ssl_keystore_type: str = _key("PEM", "The format of the key store: PEM or PKCS12.", per_listener=True)
    ssl_keystore_location: str = _key(
        "",
        "The file with the private key and its certificate chain. It is read again when it changes.",
        shape="file",
        per_listener=True,
    )
    ssl_keystore_password: str = _key("", "The password of a PKCS12 key store.", secret=True, per_listener=True)
    ssl_keystore_key: str = _key(
        "", "The private key as PEM (PKCS8), instead of a file.", secret=True, per_listener=True
    )
    ssl_keystore_certificate_chain: str = _key(
        "", "The certificate chain for ssl.keystore.key as PEM.", shape="PEM", per_listener=True
    )
    ssl_key_password: str = _key("", "The password of an encrypted private key.", secret=True, per_listener=True)
    ssl_truststore_type: str = _key("PEM", "The format of the trust store: PEM or PKCS12.", per_listener=True)
    ssl_truststore_location: str = _key(
        "",
        "The file with the certificates of the authorities whose clients are trusted.",
        shape="file",
        per_listener=True,
    )
    ssl_truststore_password: str = _key("", "The password of a PKCS12 trust store.", secret=True, per_listener=True)
    ssl_truststore_certificates: str = _key(
        "", "The trusted certificates as PEM, instead of a file.", shape="PEM", per_listener=True
    )
    ssl_client_auth: str = _key(
        "none",
        "Whether clients show a certificate (mutual TLS).",
        choices=("none", "requested", "required"),
        per_listener=True,
    )
    ssl_enabled_protocols: str = _key(
        "TLSv1.2,TLSv1.3", "The versions of TLS that are served.", shape="TLSv1.3,...", per_listener=True
    )
    ssl_cipher_suites: str = _key(
        "", "The cipher suites that are served. Empty: those of OpenSSL.", shape="name,...", per_listener=True
    )
    ssl_endpoint_identification_algorithm: str = _key(
        "https",
        "Whether a node checks the host name in the certificate of another node: `https`, or empty for no check.",
        choices=("https", ""),
        per_listener=True,
    )
    ssl_principal_mapping_rules: str = _key(
        "DEFAULT",
        "Rules from the name in a client's certificate to its principal, as `RULE:^CN=(.*?),.*$/$1/,DEFAULT`.",
        shape="rule,...",
        per_listener=True,
    )
    ssl_store_check_ms: int = _key(
        5000, "How often the files of key and trust stores are looked at for a change.", ours=True, minimum=100
    )
    ssl_handshake_timeout_ms: int = _key(
        10000, "How long a TLS handshake may take; then the connection is closed.", ours=True, minimum=100
    )
    # --- SASL ---
    sasl_enabled_mechanisms: str = _key(
        "",
        "The SASL mechanisms of listeners with SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.",
        check=parse_mechanisms,
        shape="mechanism,...",
        per_listener=True,
    )
    plain_sasl_jaas_config: str = _key(
        "",
        "Users of PLAIN beside those of `coordinator users`, as in Kafka: "
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="..."; is one with a password.',
        secret=True,
        per_listener=True,
    )
    sasl_mechanism_inter_broker_protocol: str = _key(
        "PLAIN",
        "The SASL mechanism by which the nodes of a cluster log in to each other: PLAIN, SCRAM-SHA-256 or "
        "SCRAM-SHA-512.",
        shape="mechanism",
    )
    sasl_jaas_config: str = _key(
        "",
        "The user as which the nodes log in to each other, as in Kafka: "
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="..."; With PLAIN, '
        "plain.sasl.jaas.config may have these two options instead.",
        secret=True,
        per_listener=True,
    )
    connections_max_reauth_ms: int = _key(
        0,
        "After how long a client must log in again on its connection (KIP-368). 0: never, unless its token ends.",
        long=True,
        minimum=0,
        per_listener=True,
    )
    sasl_server_max_receive_size: int = _key(
        524288, "The longest request of a client that has not logged in yet.", minimum=1024
    )
    connection_failed_authentication_delay_ms: int = _key(
        100,
        "How long a failed login waits for its answer and its end.",
        minimum=0,
        maximum=10_000,
    )
    connection_failed_authentication_delay_max_ms: int = _key(
        1000,
        "For how long a login is held back at most, after several of the same user and address have failed in a row. "
        "0: not at all.",
        ours=True,
        minimum=0,
        maximum=60_000,
    )
    connection_login_timeout_ms: int = _key(
        30000, "How long a client may take to log in (SASL); then it is closed.", ours=True, minimum=1000
    )
    max_users: int = _key(10_000, "How many users may have passwords here.", ours=True, minimum=1)
    # --- access rules ---
    authorizer_class_name: str = _key(
        "",
        "What decides about access: `acl`, or the name of Kafka's StandardAuthorizer or AclAuthorizer, for the rules "
        "of `coordinator acls`. Empty: everyone may do everything.",
        check=parse_authorizer,
        shape="acl",
    )
    super_users: str = _key(
        "",
        "The principals that may do everything, as User:admin;User:CN=ops,O=example.",
        check=parse_super_users,
        shape="principal;...",
    )
    allow_everyone_if_no_acl_found: bool = _key(
        False, "Whether everyone may use a resource for which there is no access rule."
    )
    max_acls: int = _key(10_000, "How many access rules there may be.", ours=True, minimum=1)
    sasl_oauthbearer_jwks_endpoint_url: str = _key(
        "", "Where the public keys of tokens are: https://, http:// or file://.", shape="url", per_listener=True
    )
    sasl_oauthbearer_expected_audience: str = _key(
        "", "The audiences of which a token must name one.", shape="name,...", per_listener=True
    )
    sasl_oauthbearer_allow_unverified_audience: bool = _key(
        False, "Take tokens for any audience, if sasl.oauthbearer.expected.audience is empty.", per_listener=True
    )
    sasl_oauthbearer_expected_issuer: str = _key(
        "", "The issuer that a token must name.", shape="name", per_listener=True
    )
    sasl_oauthbearer_allow_unverified_issuer: bool = _key(
        False, "Take tokens of any issuer, if sasl.oauthbearer.expected.issuer is empty.", per_listener=True
    )
    sasl_oauthbearer_sub_claim_name: str = _key(
        "sub", "The claim that has the name of the user.", shape="claim", per_listener=True
    )
    sasl_oauthbearer_scope_claim_name: str = _key(
        "scope", "The claim that has the scopes.", shape="claim", per_listener=True
    )
    sasl_oauthbearer_clock_skew_seconds: int = _key(
        30, "How far the clock of the issuer may differ from this one.", minimum=0, maximum=3600, per_listener=True
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = _key(
        3600000, "How often the public keys are read again.", long=True, minimum=1000, per_listener=True
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = _key(
        100, "How long to wait after the keys could not be read; doubled each time.", minimum=1, per_listener=True
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = _key(
        10000, "The longest of these waits.", minimum=1, per_listener=True
    )
