-- The groups with the most rebalances, and what each one has now.
WITH counted AS (
    SELECT r.group, count(*) AS rebalances, max(r.timestamp_ms) AS last_ms
    FROM rebalances AS r
    WHERE r.what = 'rebalanced' AND r.timestamp_ms BETWEEN $since_ms AND $until_ms
    GROUP BY r.group
),
newest AS (
    SELECT r.*, row_number() OVER (PARTITION BY r.group ORDER BY r.log_offset DESC) AS age
    FROM rebalances AS r
)
SELECT c.group, c.rebalances, c.last_ms, n.members, n.generation
FROM counted AS c
JOIN newest AS n ON n.group = c.group AND n.age = 1
ORDER BY c.rebalances DESC, c.group
LIMIT $limit
