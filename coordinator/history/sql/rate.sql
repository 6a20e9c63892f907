-- Commits, progress and resets of a group, for each partition and window. Windows begin at multiples of their length.
-- Those that begin less than `newest_ms` before the newest one are shown, from `first_ms` on.
WITH chosen AS (
    SELECT
        p.topic,
        p.partition,
        p.timestamp_ms - mod(mod(p.timestamp_ms, $window_ms) + $window_ms, $window_ms) AS start_ms,
        coalesce(p.change, 0) AS change
    FROM progress AS p
    WHERE
        p.group = $group
        AND p.timestamp_ms BETWEEN $since_ms AND $until_ms
        AND (array_contains($topics, '') OR array_contains($topics, p.topic))
        AND (array_contains($partitions, -1) OR array_contains($partitions, p.partition))
),
shown AS (
    SELECT greatest(min(start_ms), max(start_ms) - $newest_ms + $window_ms) AS first_ms FROM chosen
)
SELECT
    s.first_ms,
    c.topic,
    c.partition,
    c.start_ms,
    count(*) AS commits,
    CAST(sum(greatest(c.change, 0)) AS BIGINT) AS progress,
    count(CASE WHEN c.change < 0 THEN 1 END) AS resets
FROM chosen AS c
JOIN shown AS s ON c.start_ms >= s.first_ms
GROUP BY s.first_ms, c.topic, c.partition, c.start_ms
ORDER BY c.topic, c.partition, c.start_ms
