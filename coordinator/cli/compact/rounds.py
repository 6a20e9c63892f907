"""A round of compaction of one log, with a daemon or in its place, and the Spark session that rounds share.

The directory's lock tells whether a daemon serves it. With a daemon, a round asks for a plan, runs its job, and waits
for the daemon's outcome. Without one, it holds the lock, makes the plan, runs the job and swaps the segments itself. A
second lock keeps two commands from compacting one directory at the same time.

Spark starts with the first job, because most rounds have none. If history is on, closed segments are extracted first,
because no plan goes beyond the extracted part.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

from coordinator.cli.compact.daemon_lock import (
    NO_HISTORY,
    daemon_of,
    facts_of,
    is_served,
    keeps_history,
    lock_of,
    sentences,
)
from coordinator.cli.errors import CliError
from coordinator.compaction import jobs
from coordinator.compaction.daemon.dirtiness import lags_of
from coordinator.compaction.eligibility import Lags
from coordinator.compaction.plan import JobDir, Plan
from coordinator.compaction.planning import PlanOptions
from coordinator.compaction.request import (
    DaemonFacts,
    Request,
    compaction_dir,
    outcome_of,
    wait_for_answer,
)
from coordinator.config.config import Config
from coordinator.core.topics.names import COMPACTED_TOPICS, OFFSETS_TOPIC
from coordinator.history.segments import partitions_in
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.history_marks import mark_of
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import LogConfig
from coordinator.storage.offsets_log import CoordinatorTopic
from coordinator.storage.snapshot.file import evidence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from coordinator.compaction.offline import Offline
    from coordinator.compaction.spark_compact import Report
    from coordinator.compaction.swap_protocol import Accepted

JOB_LOCK: Final = "job.lock"
SPARK_LOG: Final = "spark.log"
LOOK_S: Final = 1.0  # interval of checks that the daemon still runs
POLL_S: Final = 0.1
GRACE_MS: Final = 30_000  # after a plan's expiry, for the daemon to report at its next scan that it gave the plan up


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command line for one directory."""

    data_dir: Path
    config: Config
    has_settings: bool = False  # some were given that conflict with a daemon's own
    roll: bool = False
    ratio: float | None = None
    topics: tuple[str, ...] = COMPACTED_TOPICS  # of the logs to compact
    topic: str = OFFSETS_TOPIC  # of a round; its log is one of those
    partitions: tuple[int, ...] | None = None
    mode: str = "auto"
    keeps_spark: bool = False  # more rounds will follow, so that it pays to start Spark
    master: str | None = None
    driver_memory: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def each_topic(self) -> list[Asked]:
        """Return the options for each log that the directory holds, the offsets log first."""
        found = [topic for topic in self.topics if partitions_in(self.data_dir, topic)]
        return [replace(self, topic=topic) for topic in found or self.topics[:1]]

    def chosen(self, partitions: Iterable[int]) -> list[int]:
        """Return the partitions to compact among the existing ones, ascending."""
        return sorted(set(partitions) if self.partitions is None else set(partitions) & set(self.partitions))


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a round."""

    sentence: str
    plan: Plan | None = None  # None: nothing was due
    report: Report | None = None
    is_done: bool = True
    seconds: dict[str, float] = field(default_factory=dict)  # by stage, in order
    topic: str = OFFSETS_TOPIC

    @property
    def failed(self) -> list[int]:
        """Partitions that the job could not clean."""
        return [each.partition for each in self.report.manifest.partitions if each.error] if self.report else []


class Screen(Protocol):
    """Shows progress to the user."""

    def stage(self, name: str, tasks: int) -> None: ...

    def advance(self) -> None: ...

    def follow(self, spark: SparkSession | None) -> None:
        """Take the number of finished tasks from this session from now on."""

    def say(self, sentence: str) -> None: ...

    def end(self) -> None: ...


class Rounds:
    """Runs rounds of compaction of one directory."""

    def __init__(self, asked: Asked, screen: Screen) -> None:
        self._asked = asked
        self._screen = screen
        self._fs = RealFileSystem()
        self._spark: SparkSession | None = None
        self._started_spark = False  # the session was started here, and is stopped here
        self._told_no_history = False
        self.is_broken = False  # the JVM has ended, and cannot be started again in this process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.end()
        if self._spark is not None and self._started_spark and not self.is_broken:
            self._spark.stop()

    def once(self) -> list[Result]:
        """Compact everything that is due now, in as many plans as needed. CliError: the user has to act first."""
        with self._only_one():
            return [result for asked in self._asked.each_topic() for result in self._all_of(asked)]

    def _all_of(self, asked: Asked) -> list[Result]:
        """Compact everything that is due of one log."""
        results = self._round(asked)
        while (plan := results[-1].plan) and plan.left_bytes and (results[-1].is_done or results[-1].failed):
            self._screen.say(f"{results[-1].sentence}; {plan.left_bytes} bytes are left for the next plan")
            failed = {each for result in results for each in result.failed}
            left = set(asked.chosen(partitions_in(asked.data_dir, asked.topic))) - failed
            more = self._round(replace(asked, roll=False, partitions=tuple(sorted(left))))
            if more[-1].plan is None:
                break
            results += more
        return results

    def _round(self, asked: Asked) -> list[Result]:
        if not self._is_served():
            return [self._offline(asked)]
        facts = daemon_of(asked.data_dir, has_settings=asked.has_settings)
        results = self._with_daemon(facts, asked)
        if facts.history_enable and asked.roll and asked.topic == OFFSETS_TOPIC:
            # The rolled segments could not be extracted before, and only extracted ones are planned.
            more = self._with_daemon(facts, replace(asked, roll=False))
            results = [*results, *more] if any(each.plan for each in more) else results
        return results

    def of_plan(self, plan_id: str) -> list[Result]:
        """Run the job of one plan."""
        with self._only_one(), sentences():
            job = JobDir.of(self._asked.data_dir, plan_id)
            if not self._is_served():
                raise CliError(
                    f"the daemon that made the plan {plan_id} is gone, and the plan with it; leave --plan out"
                )
            return [self._job_for_daemon(job, {})]

    @property
    def data_dir(self) -> Path:
        """The directory that is compacted."""
        return self._asked.data_dir

    def has_work(self) -> bool:
        """Return whether the daemon has open jobs, planned on its schedule or for a command that has ended."""
        facts = facts_of(self._asked.data_dir)
        return facts is not None and bool(
            jobs.open_jobs(self._fs, self._asked.data_dir, epoch=facts.epoch, now_ms=wall_ms())
        )

    # -- with a daemon -------------------------------------------------------------------------------------------

    def _is_served(self) -> bool:
        return is_served(self._fs, self._asked.data_dir)

    def _with_daemon(self, facts: DaemonFacts, asked: Asked) -> list[Result]:
        seconds: dict[str, float] = {}
        if facts.history_enable and asked.topic == OFFSETS_TOPIC:
            self._extract(Path(facts.history_dir) if facts.history_dir else None, facts.history_retention_ms, seconds)
        with sentences(), _timed(seconds, "plan"):
            self._screen.stage("plan", 0)
            request = Request.new(
                roll=asked.roll, min_cleanable_ratio=asked.ratio, partitions=asked.partitions, topic=asked.topic
            )
            answer = wait_for_answer(asked.data_dir, request, on_news=self._screen.say)
        if not answer.plan_ids:
            return [Result(answer.reason, seconds=seconds, topic=asked.topic)]
        with sentences():
            return [self._job_for_daemon(JobDir.of(asked.data_dir, each), seconds) for each in answer.plan_ids]

    def _job_for_daemon(self, job: JobDir, seconds: dict[str, float]) -> Result:
        plan, report = self._run(job, seconds)
        self._screen.stage("hand-over", 0)
        with _timed(seconds, "hand-over"):
            next_look = time.monotonic() + LOOK_S  # a check takes the lock briefly, so it must be rare
            while (outcome := outcome_of(job)) is None:
                if wall_ms() > jobs.expires_ms(job, plan) + GRACE_MS:
                    raise CliError(f"the daemon did not report on the result of {plan.id}; look into its log", 1)
                if time.monotonic() > next_look:
                    next_look = time.monotonic() + LOOK_S
                    if not self._is_served():
                        raise CliError(f"the daemon that made the plan {plan.id} has gone; run this again", 1)
                time.sleep(POLL_S)
        return Result(outcome.sentence, plan, report, outcome.is_done, seconds, plan.topic)

    # -- without -------------------------------------------------------------------------------------------------

    def _offline(self, asked: Asked) -> Result:
        from coordinator.compaction.offline import Offline, RefusedError

        config = asked.config
        seconds: dict[str, float] = {}
        try:
            lock = lock_of(self._fs, asked.data_dir)
        except BlockingIOError:
            raise CliError(f"a daemon has just been started on {asked.data_dir}; run this again") from None
        log_config = LogConfig(
            CoordinatorTopic.named(asked.topic, config).segment_bytes,
            config.log_roll_ms,
            config.log_index_interval_bytes,
        )
        try:
            with sentences():
                self._screen.stage("open", 0)
                with _timed(seconds, "open"):
                    offline = Offline.open(
                        self._fs, asked.data_dir, log_config, now_ms=wall_ms(), evidence=evidence, topic=asked.topic
                    )
                for message in offline.messages:
                    self._screen.say(message)
                try:
                    return self._offline_round(offline, asked, seconds)
                except RefusedError as error:
                    raise CliError(f"the result was refused, and is kept as evidence: {error}", 1) from None
                finally:
                    offline.close()
        finally:
            lock.close()

    def _offline_round(self, offline: Offline, asked: Asked, seconds: dict[str, float]) -> Result:
        config = asked.config
        if asked.roll:
            for partition in asked.chosen(offline.logs):
                if offline.logs[partition].segments[-1].size_bytes:
                    offline.logs[partition].roll()
        not_beyond = {}
        if config.history_enable and asked.topic == OFFSETS_TOPIC:
            self._extract(Path(config.history_path), config.history_retention_ms, seconds)
            not_beyond = {partition: mark_of(Path(config.history_path), partition) for partition in offline.logs}
        self._screen.stage("plan", 0)
        with _timed(seconds, "plan"):
            options = options_of(asked, not_beyond, lags_of(config, asked.ratio))
            planned = offline.plan(options, now_ms=wall_ms(), partitions=asked.partitions)
        if planned.plan is None:
            return Result(planned.sentence(), seconds=seconds, topic=asked.topic)
        plan, report = self._run(JobDir.of(asked.data_dir, planned.plan.id), seconds)
        self._screen.stage("hand-over", 0)
        with _timed(seconds, "hand-over"):
            check_all = None if self._spark is None else partial(self._check, asked.data_dir)
            sentence = offline.swap(plan.id, now_ms=wall_ms(), check_all=check_all)
        is_done = not all(each.error for each in report.manifest.partitions)
        return Result(sentence, plan, report, is_done, seconds, plan.topic)

    # -- the job -------------------------------------------------------------------------------------------------

    def _run(self, job: JobDir, seconds: dict[str, float]) -> tuple[Plan, Report]:
        from coordinator.compaction.spark_compact import JobError, Mode, is_small, run_job

        plan = jobs.read_plan(self._fs, job)
        loses_history = plan.topic == OFFSETS_TOPIC and not self._told_no_history
        if loses_history and not keeps_history(self._fs, self._asked.data_dir, self._asked.config):
            self._told_no_history = True
            self._screen.say(NO_HISTORY)
        mode = Mode(self._asked.mode)
        if mode is Mode.AUTO and self._is_cold() and is_small(plan):
            mode = Mode.SINGLE
            self._screen.say(
                "compacted without Spark, whose start takes longer than this; --mode partition takes Spark"
            )
        spark = None if mode is Mode.SINGLE or self._fs.exists(job.manifest) else self._session(seconds)
        self._screen.follow(spark)
        try:
            with self._on_spark():
                report = run_job(job, mode=mode, spark=spark, now_ms=wall_ms(), watcher=self._screen)
        except JobError as error:
            raise CliError(str(error), 1) from None
        finally:
            self._screen.follow(None)
        seconds.update(report.manifest.seconds)
        return plan, report

    def _is_cold(self) -> bool:
        """Return whether Spark would have to be started here, for this work alone."""
        asked = self._asked
        if (
            asked.keeps_spark
            or asked.master is not None
            or asked.driver_memory
            or asked.conf
            or self._spark is not None
        ):
            return False
        if importlib.util.find_spec("pyspark") is None:
            return True
        from coordinator.spark.spark_session import is_running, under_spark_submit

        return not under_spark_submit() and not is_running()

    def _check(self, data_dir: Path, accepted: Accepted) -> None:
        """Check each partition in a Spark task. RefusedError: a check failed."""
        from coordinator.compaction.offline import raise_first, verdict_on
        from coordinator.compaction.spark_compact import each_in_a_task

        assert self._spark is not None
        count = len(accepted.results)
        job = JobDir.of(data_dir, accepted.plan.id)
        self._screen.follow(self._spark)
        try:
            with self._on_spark():
                verdicts = each_in_a_task(
                    job,
                    accepted.plan,
                    self._spark,
                    "check",
                    count,
                    lambda number: verdict_on(data_dir, accepted, number),
                    self._screen,
                )
        finally:
            self._screen.follow(None)
        raise_first(verdicts)

    @contextmanager
    def _on_spark(self) -> Iterator[None]:
        """Turn an exception of Spark into a CliError of one sentence."""
        try:
            yield
        except Exception as error:
            if not _is_sparks(error):
                raise
            self.is_broken = _is_gone(error)
            from coordinator.spark.spark_session import reason_of

            raise CliError(
                f"the job failed on Spark ({reason_of(error)}); its messages are in {self._spark_log}", 1
            ) from error

    def _session(self, seconds: dict[str, float]) -> SparkSession:
        if self._spark is None:
            from coordinator.spark.spark_session import (
                DEFAULT_DRIVER_MEMORY,
                SessionSettings,
                SparkUnavailableError,
                check_available,
                is_running,
                open_session,
            )

            asked = self._asked
            settings = SessionSettings(
                master=asked.master,
                driver_memory=asked.driver_memory or DEFAULT_DRIVER_MEMORY,
                name="coordinator compact",
                log=self._spark_log,
                conf=asked.conf,
            )
            self._screen.stage("start Spark", 0)
            try:
                with _timed(seconds, "start Spark"):
                    check_available(settings)
                    self._started_spark = not is_running()
                    self._spark = open_session(settings)
            except SparkUnavailableError as error:
                raise CliError(f"{error}; or compact without Spark: --mode single") from None
        return self._spark

    @property
    def _spark_log(self) -> Path:
        return compaction_dir(self._asked.data_dir) / SPARK_LOG

    def _extract(self, history_dir: Path | None, retention_ms: int, seconds: dict[str, float]) -> None:
        from coordinator.cli.history.arguments import reading_files
        from coordinator.cli.history.extract import extracted
        from coordinator.history.source import HistorySource

        self._screen.stage("history", 0)
        with reading_files(), _timed(seconds, "history"):
            extracted(HistorySource.of(self._asked.data_dir, history_dir), None, retention_ms=retention_ms)

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        directory = compaction_dir(self._asked.data_dir)
        try:
            directory.mkdir(exist_ok=True)
            lock = self._fs.lock(directory / JOB_LOCK)
        except BlockingIOError:
            raise CliError(
                f"another compaction of {self._asked.data_dir} is at work; wait until it has finished, or stop it"
            ) from None
        except OSError as error:
            raise CliError(f"{directory} cannot be written ({error.strerror}); run this as its owner") from None
        try:
            yield
        finally:
            self._screen.end()
            lock.close()


def options_of(asked: Asked, not_beyond: Mapping[int, int], lags: Lags) -> PlanOptions:
    """Return the options of a plan; `not_beyond` is the end of history by partition."""
    config = asked.config
    return PlanOptions(
        lags=lags,
        delete_retention_ms=config.log_cleaner_delete_retention_ms,
        segment_bytes=CoordinatorTopic.named(asked.topic, config).segment_bytes,
        expiration_ms=config.compaction_plan_expiration_ms,
        max_dirty_bytes=config.compaction_plan_max_bytes,
        not_beyond=not_beyond,
        topic=asked.topic,
    )


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = round(seconds.get(stage, 0.0) + time.perf_counter() - begun, 3)


def _is_sparks(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j") or isinstance(error, ConnectionError)


def _is_gone(error: Exception) -> bool:
    """Return whether the JVM itself has ended."""
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"
