-- Questions about the past of consumer groups, for DuckDB:
--
--     coordinator history sql --file history.sql
--
-- docs/history-sql.md has the tables. Times are milliseconds since the epoch, and epoch_ms() makes timestamps in UTC.
-- $now_ms is the time of the question (--now). A column with a reserved name has its table before it: r.group.

-- 1. Which groups rebalance again and again? Their worst hours, and how many partitions moved in them.
SELECT
    r.group,
    date_trunc('hour', epoch_ms(r.timestamp_ms)) AS hour,
    count(*) AS rebalances,
    sum(r.moved) AS moved_partitions
FROM rebalances AS r
WHERE r.what = 'rebalanced'
GROUP BY ALL
HAVING count(*) >= 3
ORDER BY rebalances DESC, hour
LIMIT 20;

-- 2. Which clients gained and lost the most partitions?
SELECT
    m.group,
    m.client_id,
    count(*) FILTER (WHERE m.is_gain) AS gained,
    count(*) FILTER (WHERE NOT m.is_gain) AS lost
FROM (
    SELECT v.group, v.to_client_id AS client_id, TRUE AS is_gain FROM moves AS v WHERE v.to_client_id IS NOT NULL
    UNION ALL
    SELECT v.group, v.from_client_id, FALSE FROM moves AS v WHERE v.from_client_id IS NOT NULL
) AS m
GROUP BY ALL
ORDER BY count(*) DESC, m.client_id
LIMIT 20;

-- 3. Why did groups rebalance, and how long did it take?
SELECT
    e.cause,
    count(*) AS rebalances,
    count(DISTINCT e.group) AS groups,
    median(e.join_ms + e.plan_ms + e.sync_ms) AS median_ms,
    max(e.join_ms + e.plan_ms + e.sync_ms) AS longest_ms
FROM events AS e
WHERE e.kind = 'rebalance'
GROUP BY ALL
ORDER BY rebalances DESC;

-- 4. What was the longest rebalance of each cause, and which client began it?
SELECT DISTINCT ON (e.cause)
    e.cause,
    e.group,
    epoch_ms(e.at_ms) AS began,
    e.join_ms + e.plan_ms + e.sync_ms AS took_ms,
    e.client_id,
    e.host,
    e.json ->> '$.trigger.reason' AS reason
FROM events AS e
WHERE e.kind = 'rebalance'
ORDER BY e.cause, took_ms DESC;

-- 5. How many commits and records an hour did each group process?
SELECT
    p.group,
    date_trunc('hour', epoch_ms(p.timestamp_ms)) AS hour,
    count(*) AS commits,
    sum(greatest(coalesce(p.change, 0), 0)) AS records
FROM progress AS p
GROUP BY ALL
ORDER BY p.group, hour;

-- 6. Which partitions have been left behind: not committed for ten minutes, while others of their group were?
SELECT
    s.group,
    s.topic,
    s.partition,
    s.committed_offset,
    epoch_ms(s.last_ms) AS last_commit,
    ($now_ms - s.last_ms) // 60000 AS minutes
FROM (
    SELECT
        c.group,
        c.topic,
        c.partition,
        max_by(c.committed_offset, c.log_offset) AS committed_offset,
        max(c.timestamp_ms) AS last_ms,
        max(max(c.timestamp_ms)) OVER (PARTITION BY c.group) AS group_ms
    FROM counted_commits AS c
    GROUP BY c.group, c.topic, c.partition
) AS s
WHERE s.last_ms < s.group_ms - 600000
ORDER BY minutes DESC;

-- 7. Whose lag grew most within the last six hours? (`lag` has rows where the ends of the logs are known.)
SELECT
    l.group,
    l.topic,
    sum(l.lag_after - l.lag_before) AS growth,
    sum(l.lag_after) AS lag_now
FROM (
    SELECT
        g.group,
        g.topic,
        g.partition,
        min_by(g.lag, g.at_ms) AS lag_before,
        max_by(g.lag, g.at_ms) AS lag_after
    FROM lag AS g
    WHERE g.at_ms > $now_ms - 6 * 3600000
    GROUP BY ALL
) AS l
GROUP BY ALL
ORDER BY growth DESC
LIMIT 20;

-- 8. Which versions of client libraries were seen in rebalances and incidents, and when last?
SELECT
    e.software,
    count(DISTINCT e.client_id) AS clients,
    count(DISTINCT e.group) AS groups,
    epoch_ms(max(e.at_ms)) AS last_seen
FROM events AS e
WHERE e.software <> ''
GROUP BY ALL
ORDER BY clients DESC, e.software;

-- 9. When were groups deployed? Ten minutes in which half of the members or more were replaced.
SELECT
    m.group,
    time_bucket(INTERVAL 10 MINUTES, epoch_ms(m.timestamp_ms)) AS began,
    count(DISTINCT m.member_id) FILTER (WHERE m.change IN ('came', 'restarted')) AS new_members,
    count(DISTINCT m.member_id) FILTER (WHERE m.change = 'went') AS gone_members,
    count(DISTINCT m.timestamp_ms) AS changes
FROM members AS m
GROUP BY ALL
HAVING new_members >= 2 AND gone_members + new_members >= count(DISTINCT m.member_id) / 2
ORDER BY began, m.group;

-- 10. Which groups have members, and did not commit within the last day?
SELECT r.group, r.members, epoch_ms(r.timestamp_ms) AS since, r.generation
FROM rebalances AS r
WHERE
    r.members > 0
    AND NOT EXISTS (SELECT 1 FROM rebalances AS n WHERE n.group = r.group AND n.log_offset > r.log_offset)
    AND NOT EXISTS (
        SELECT 1 FROM counted_commits AS c WHERE c.group = r.group AND c.timestamp_ms > $now_ms - 24 * 3600000
    )
ORDER BY since;

-- 11. How long was each group without an owner for some of its partitions?
SELECT
    o.group,
    count(*) AS times,
    sum(o.until_ms - o.timestamp_ms) / 1000 AS partition_seconds,
    max(o.until_ms - o.timestamp_ms) / 1000 AS longest_s
FROM (
    SELECT
        v.group,
        v.timestamp_ms,
        v.to_member_id,
        coalesce(
            lead(v.timestamp_ms) OVER (PARTITION BY v.group, v.topic, v.partition ORDER BY v.log_offset), $now_ms
        ) AS until_ms
    FROM moves AS v
) AS o
WHERE o.to_member_id IS NULL
GROUP BY ALL
ORDER BY partition_seconds DESC;

-- 12. Whose offsets went back, and how far? Each is a reset, or a consumer that committed out of order.
SELECT p.group, p.topic, p.partition, epoch_ms(p.timestamp_ms) AS committed, p.committed_offset, p.change
FROM progress AS p
WHERE p.change < 0
ORDER BY p.change
LIMIT 20;

-- 13. Which clients were fenced or refused, how often, and by which host last?
SELECT
    e.group,
    e.cause AS incident,
    e.client_id,
    sum(coalesce(CAST(e.json ->> '$.times' AS BIGINT), 1)) AS times,
    max_by(e.host, e.at_ms) AS host,
    epoch_ms(max(e.at_ms)) AS last_seen
FROM events AS e
WHERE e.kind = 'incident'
GROUP BY ALL
ORDER BY times DESC;

-- 14. How soon after a rebalance did a group commit again?
SELECT
    r.group,
    count(*) AS rebalances,
    median(r.next_ms - r.timestamp_ms) / 1000 AS median_s,
    max(r.next_ms - r.timestamp_ms) / 1000 AS longest_s
FROM (
    SELECT b.group, b.timestamp_ms, c.timestamp_ms AS next_ms
    FROM rebalances AS b
    ASOF JOIN counted_commits AS c ON c.group = b.group AND c.timestamp_ms >= b.timestamp_ms
    WHERE b.what = 'rebalanced'
) AS r
GROUP BY ALL
ORDER BY longest_s DESC;

-- 15. What became of the commits in transactions? Aborted ones took no effect, open ones not yet.
SELECT d.group, d.outcome, count(*) AS commits, count(DISTINCT d.producer_id) AS producers
FROM decided_commits AS d
WHERE d.outcome IS NOT NULL
GROUP BY ALL
ORDER BY d.group, commits DESC;
