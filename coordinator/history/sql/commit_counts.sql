-- The groups with the most commits.
SELECT
    c.group,
    count(*) AS commits,
    count(DISTINCT (c.topic, c.partition)) AS partitions,
    min(c.timestamp_ms) AS first_ms,
    max(c.timestamp_ms) AS last_ms
FROM counted_commits AS c
WHERE
    NOT c.tombstone
    AND c.timestamp_ms BETWEEN $since_ms AND $until_ms
    AND (array_contains($topics, '') OR array_contains($topics, c.topic))
    AND (array_contains($partitions, -1) OR array_contains($partitions, c.partition))
GROUP BY c.group
ORDER BY commits DESC, c.group
LIMIT $limit
