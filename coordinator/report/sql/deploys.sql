-- Deploys with the lag of the group right before, at their end, and $settle_ms later; null: the table `lag` has none.
WITH moments AS (
    SELECT
        b.group, b.burst,
        unnest([b.began_ms, b.ended_ms, b.ended_ms + $settle_ms]) AS at_ms,
        unnest(['before', 'at_end', 'after']) AS moment
    FROM bursts AS b
    WHERE b.is_deploy
),
partitions AS (
    SELECT DISTINCT l.group, l.topic, l.partition FROM lag AS l WHERE l.group IN (SELECT m.group FROM moments AS m)
),
lags AS (
    SELECT m.group, m.burst, m.moment, sum(l.lag) AS lag
    FROM (SELECT m.*, p.topic, p.partition FROM moments AS m JOIN partitions AS p ON p.group = m.group) AS m
    ASOF JOIN lag AS l
        ON l.group = m.group AND l.topic = m.topic AND l.partition = m.partition AND l.at_ms <= m.at_ms
    GROUP BY ALL
)
SELECT
    b.group, b.began_ms, b.ended_ms, len(b.rebalances) AS rebalances, b.members_before, b.members_after,
    b.lost_ms, b.read_twice,
    any_value(l.lag) FILTER (WHERE l.moment = 'before') AS lag_before,
    any_value(l.lag) FILTER (WHERE l.moment = 'at_end') AS lag_at_end,
    any_value(l.lag) FILTER (WHERE l.moment = 'after') AS lag_after
FROM bursts AS b
LEFT JOIN lags AS l ON l.group = b.group AND l.burst = b.burst
WHERE b.is_deploy
GROUP BY ALL
ORDER BY b.began_ms, b.group
