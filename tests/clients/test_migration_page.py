"""docs/migration-clients.md belongs to the script as it is now, and the script counts time without an owner right."""

from __future__ import annotations

from tests.clients.matrix_consumer_programs import CLIENTS
from tests.clients.migration import ASSIGNORS, DIRECTIONS, PAGE, PARTITIONS, Change, without_owner

MS = 1_000_000


def changes(*told: tuple[int, str, bool]) -> list[Change]:
    """Return the changes of partition 0, by (ms, member, whether it took it)."""
    return [Change(at_ms * MS, 0, owner, is_taken) for at_ms, owner, is_taken in told]


def test_the_time_without_an_owner_is_that_between_two_owners() -> None:
    told = changes((0, "a", True), (100, "a", False), (130, "b", True), (200, "b", False), (205, "a", True))
    totals, longest, twice = without_owner(told, 50 * MS, 300 * MS)
    assert (totals[0], longest, twice) == (35.0, 30.0, 0.0)


def test_time_before_the_migration_does_not_count() -> None:
    totals, longest, _ = without_owner(changes((0, "a", True), (10, "a", False), (70, "b", True)), 50 * MS, 300 * MS)
    assert (totals[0], longest) == (20.0, 20.0)


def test_two_owners_at_a_time_are_seen() -> None:
    told = changes((0, "a", True), (100, "b", True), (140, "a", False))
    assert without_owner(told, 50 * MS, 300 * MS)[1:] == (0.0, 40.0)


def test_a_partition_that_is_never_taken_again_has_no_owner_to_the_end() -> None:
    totals, longest, _ = without_owner(changes((0, "a", True), (100, "a", False)), 50 * MS, 300 * MS)
    assert (totals[0], longest) == (200.0, 200.0)
    assert len(totals) == PARTITIONS


def test_the_page_shows_every_client_with_every_assignor_in_both_directions() -> None:
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    shown = [(row[0].strip(), row[1].strip()) for row in rows if row[0].strip() != "client"]
    assert sorted(shown) == sorted(
        (client, assignor) for _ in DIRECTIONS for client in CLIENTS for assignor in ASSIGNORS
    )


def test_the_page_shows_a_migration_in_which_nothing_was_lost() -> None:
    page = PAGE.read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    lost = [row[2].strip().split(" / ")[0] for row in rows if row[0].strip() != "client"]
    assert set(lost) == {"0", "refused"}
    assert "FAILED" not in page
