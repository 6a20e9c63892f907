-- The groups with the most progress. `peak` is the progress of a group in its best window; the rest as in rate.sql.
WITH chosen AS (
    SELECT
        p.group,
        p.timestamp_ms - mod(mod(p.timestamp_ms, $window_ms) + $window_ms, $window_ms) AS start_ms,
        greatest(coalesce(p.change, 0), 0) AS progress
    FROM progress AS p
    WHERE
        p.timestamp_ms BETWEEN $since_ms AND $until_ms
        AND (array_contains($topics, '') OR array_contains($topics, p.topic))
        AND (array_contains($partitions, -1) OR array_contains($partitions, p.partition))
),
windows AS (
    SELECT c.group, c.start_ms, count(*) AS commits, CAST(sum(c.progress) AS BIGINT) AS progress
    FROM chosen AS c
    WHERE c.start_ms > (SELECT max(start_ms) FROM chosen) - $newest_ms
    GROUP BY c.group, c.start_ms
)
SELECT
    w.group,
    CAST(sum(w.commits) AS BIGINT) AS commits,
    CAST(sum(w.progress) AS BIGINT) AS progress,
    max(w.progress) AS peak,
    min(w.start_ms) AS first_ms,
    max(w.start_ms) + $window_ms AS last_ms
FROM windows AS w
GROUP BY w.group
ORDER BY progress DESC, commits DESC, w.group
LIMIT $limit
