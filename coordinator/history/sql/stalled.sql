-- Partitions that have stood still for `for_ms` at `now_ms`, the longest standing first.
-- 'no commits': none for so long. 'no progress': committed at least twice more, at the offset that it had all that time.
WITH pairs AS (
    SELECT
        c.group,
        c.topic,
        c.partition,
        c.timestamp_ms,
        CASE WHEN NOT c.tombstone THEN c.committed_offset ELSE -1 END AS committed_offset,
        coalesce(lag(c.tombstone) OVER in_order, TRUE) AS is_first,
        lag(c.committed_offset) OVER in_order AS previous_offset,
        row_number() OVER in_order AS number
    FROM counted_commits AS c
    WHERE
        c.timestamp_ms BETWEEN $since_ms AND $until_ms
        AND c.timestamp_ms <= $now_ms
        AND (array_contains($topics, '') OR array_contains($topics, c.topic))
        AND (array_contains($partitions, -1) OR array_contains($partitions, c.partition))
    WINDOW in_order AS (PARTITION BY c.group, c.topic, c.partition ORDER BY c.log_offset)
),
steps AS (
    SELECT
        p.*,
        CASE
            WHEN p.committed_offset >= 0 AND (p.is_first OR p.committed_offset <> p.previous_offset) THEN p.number
        END AS moved -- the number of a commit of another offset than before
    FROM pairs AS p
),
states AS (
    SELECT
        s.group,
        s.topic,
        s.partition,
        max_by(s.committed_offset, s.number) AS committed_offset, -- -1: it was deleted
        max_by(s.timestamp_ms, s.number) AS last_commit_ms,
        max_by(s.timestamp_ms, s.moved) AS moved_ms,
        max(s.number) - max(s.moved) AS commits_since
    FROM steps AS s
    GROUP BY s.group, s.topic, s.partition
),
judged AS (
    SELECT s.*, s.last_commit_ms <= $now_ms - $for_ms AS is_silent
    FROM states AS s
    WHERE s.committed_offset >= 0
)
SELECT
    j.group,
    j.topic,
    j.partition,
    CASE WHEN j.is_silent THEN 'no commits' ELSE 'no progress' END AS how,
    j.committed_offset AS offset,
    CASE WHEN j.is_silent THEN j.last_commit_ms ELSE j.moved_ms END AS since_ms,
    j.last_commit_ms,
    j.commits_since
FROM judged AS j
WHERE j.is_silent OR (j.moved_ms <= $now_ms - $for_ms AND j.commits_since >= 2)
ORDER BY since_ms, j.group, j.topic, j.partition
LIMIT $limit
