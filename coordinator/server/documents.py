"""Users, access rules and quotas of a node: opened, enforced, and kept equal on all nodes of a cluster.

The controller has them in its data directory and sends them with the catalogue of topics; the other nodes follow, and
forward changes. With a shared store they are kept there, and each node asks for them again and again.
Users and rules are shared only between nodes that prove who they are.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.security import parse_super_users
from coordinator.security.acl.authorizer import Authorizer
from coordinator.server import authorization_layer
from coordinator.server.access import access_of
from coordinator.server.startup import StartupError
from coordinator.storage.data_dir import unusable
from coordinator.storage.documents.acls import AclStore
from coordinator.storage.documents.quotas import QuotaStore
from coordinator.storage.documents.store import DocumentStoreError
from coordinator.storage.documents.users import UserStore
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.server.controller_link import ControllerLink
    from coordinator.server.runtime import Runtime
    from coordinator.storage.documents.shared import SharedDocuments
    from coordinator.storage.documents.store import DocumentStore
    from coordinator.storage.log.fs import FileSystem

LOG: Final = logging.getLogger("coordinator.documents")

REFRESH_S: Final = 5.0  # at most, until a node has a change that another one has made in the shared store
NO_LOGINS: Final = (
    "the nodes of this cluster do not log in to each other, and a stranger could read the users; give the listener for "
    "nodes SASL, or TLS with ssl.client.auth=required"
)
NO_LINK: Final = "the nodes exchange this with the topics, and topics.storage is off; turn it on"


class Documents:
    """The documents of one node."""

    def __init__(self, runtime: Runtime, fs: FileSystem, path: Path, *, is_written: bool = True) -> None:
        """Read the files, and enforce what is in them. Raises StartupError.

        `is_written`: False for a worker that is not the first: all workers of a daemon have the files of the first one.
        """
        self._runtime = runtime
        self._refreshing: asyncio.Task[None] | None = None
        config = runtime.config
        try:
            self._users = runtime.users = UserStore(fs, path, is_written=is_written)
            self._quotas = runtime.quota_store = QuotaStore(fs, path, runtime.quotas, is_written=is_written)
            self._acls: AclStore | None = None
            if config.has_authorizer:
                authorizer = Authorizer(
                    {},
                    parse_super_users(config.super_users),
                    allow_if_no_acl=config.allow_everyone_if_no_acl_found,
                )
                self._acls = runtime.acls = AclStore(fs, path, authorizer, is_written=is_written)
                authorization_layer.install(runtime.routes, partial(access_of, authorizer))
        except DocumentStoreError as error:
            raise StartupError(str(error)) from None
        except OSError as error:
            raise StartupError.of(unusable(path, error)) from None
        for store in self.all():
            store.answer = runtime.answer_later
        self._quotas.changed = runtime.forget_templates
        if self._acls is not None:
            self._acls.changed = runtime.forget_templates

    def all(self) -> list[DocumentStore[Any]]:
        return [each for each in (self._users, self._acls, self._quotas) if each is not None]

    def exchange(self, link: ControllerLink | None, *, has_logins: bool) -> None:
        """Share the documents with the other nodes of a cluster, whose log is in files.

        `link`: None, if the nodes do not follow the topics of the controller. `has_logins`: they prove who they are.
        """
        for store in self.all():
            if link is None:
                store.why_fixed = NO_LINK
            elif store is self._users and not has_logins:
                store.why_fixed = NO_LOGINS
            elif self._runtime.cluster.is_controller:
                store.changed = partial(self._send, store, store.changed)
                self._send(store, _nothing)
            else:
                store.is_followed = True
                link.documents[store.name] = store

    def _send(self, store: DocumentStore[Any], before: Any) -> None:
        before()
        runtime = self._runtime
        runtime.execute_topics(runtime.topics.share(store.name, store.text, runtime.now_ms()))
        runtime.end_of_event()

    async def keep_in(self, shared: SharedDocuments) -> None:
        """Keep the documents in a shared store. Raises StartupError."""
        try:
            for store in self.all():
                await store.share(shared)
        except LogStoreError as error:
            raise StartupError.of(error) from None
        except DocumentStoreError as error:
            raise StartupError(str(error)) from None
        news = asyncio.Event()
        shared.watch(news.set)
        self._refreshing = asyncio.get_running_loop().create_task(self._refresh(news))

    async def _refresh(self, news: asyncio.Event) -> None:
        failure = ""
        while True:
            try:
                async with asyncio.timeout(REFRESH_S):
                    await news.wait()
            except TimeoutError:
                pass
            news.clear()
            try:
                for store in self.all():
                    await store.refresh()
                failure = ""
            except Exception as error:  # of any kind: nothing else would ask again
                is_known = isinstance(error, LogStoreError | DocumentStoreError)
                if str(error) != failure:
                    failure = str(error)
                    LOG.warning(
                        "users, access rules and quotas stay as they are reason=%s",
                        failure,
                        exc_info=None if is_known else error,
                    )

    async def close(self) -> None:
        """Ask the shared store no more."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait((self._refreshing,))


def _nothing() -> None:
    pass
