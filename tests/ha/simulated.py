"""Histories of a correct register: processes that commit and fetch in turn, with unknown and refused commits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.ha.history import COMMIT, EVER, FAIL, FETCH, INFO, OK, Key, Operation


@dataclass
class Running:
    """An operation that was sent. `effects` are its effects to come; a fetch takes the value at its own."""

    operation: Operation
    effects: int
    outcome: str
    may_come_late: bool = False  # one more effect, when its client has given up


@dataclass
class SimulatedRegister:
    """Each step, one thing happens: an operation begins, has its effect, or ends; or a late effect arrives."""

    random: Random
    key: Key
    processes: int = 3
    now: float = 0
    value: int | None = None
    history: list[Operation] = field(default_factory=list)
    _running: dict[int, Running] = field(default_factory=dict)
    _late: list[int] = field(default_factory=list)  # values of commits that their clients have given up
    _values: int = 0

    def run(self, steps: int) -> list[Operation]:
        """Return the history of so many steps, and of a final fetch; operations under way count as killed."""
        for _ in range(steps):
            self.now += self.random.randrange(2)  # several things may happen in one instant
            if self._late and self.random.random() < 0.1:
                self.value = self._late.pop(self.random.randrange(len(self._late)))
            self._step(self.random.randrange(self.processes))
        for running in self._running.values():
            self.history.append(replace(running.operation, end=EVER, outcome=INFO))
        self.now += 1
        final = Operation("judge", FETCH, self.key, self.value, self.now, self.now + 1, OK, is_final=True)
        return [*self.history, final]

    def _step(self, process: int) -> None:
        running = self._running.get(process)
        if running is None:
            self._running[process] = self._begun(process)
        elif running.effects:
            running.effects -= 1
            operation = running.operation
            if operation.kind == FETCH:
                running.operation = replace(operation, value=self.value)
            else:
                assert isinstance(operation.value, int)
                self.value = operation.value
        else:
            del self._running[process]
            operation, outcome = running.operation, running.outcome
            if running.may_come_late and self.random.random() < 0.5:
                assert isinstance(operation.value, int)
                self._late.append(operation.value)
            self.history.append(replace(operation, end=self.now, outcome=outcome))

    def _begun(self, process: int) -> Running:
        if self.random.random() < 0.5:
            return Running(Operation(f"p{process}", FETCH, self.key, None, self.now, EVER, INFO), 1, OK)
        self._values += 1
        outcome = self.random.choices((OK, INFO, FAIL), (6, 2, 1))[0]
        may_repeat = self.random.random() < 0.2
        operation = Operation(f"p{process}", COMMIT, self.key, self._values, self.now, EVER, INFO, may_repeat)
        most = 3 if may_repeat else 1
        if outcome == OK:
            return Running(operation, self.random.randint(1, most), outcome)
        effects = self.random.randint(0, most) if outcome == INFO else 0
        return Running(operation, effects, outcome, outcome == INFO and (may_repeat or not effects))
