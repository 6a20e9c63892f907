-- Rebalances of a group within $burst_ms of each other. In a deploy, the members that were there at the beginning go (all
-- of them, or two of three) and half as many new ones come, or more. An event names few members, and counts them all.
WITH stepped AS (
    SELECT
        r.*,
        r.at_ms - lag(r.at_ms + r.took_ms) OVER in_order > $burst_ms AS begins
    FROM rebalanced AS r
    WINDOW in_order AS (PARTITION BY r.group ORDER BY r.at_ms, r.log_offset)
),
numbered AS (
    SELECT
        s.*,
        sum(CASE WHEN s.begins THEN 1 ELSE 0 END) OVER (PARTITION BY s.group ORDER BY s.at_ms, s.log_offset) AS burst
    FROM stepped AS s
),
member AS (
    SELECT
        n.group, n.burst, c.member_id,
        bool_or(c.how = 'join') AS came,
        bool_or(c.how <> 'join') AS went
    FROM numbered AS n
    JOIN changed AS c ON c.group = n.group AND c.rebalance = n.log_offset
    GROUP BY ALL
),
replaced AS (
    SELECT
        m.group, m.burst,
        count(*) FILTER (WHERE m.went AND NOT m.came) AS gone,
        count(*) FILTER (WHERE m.came AND NOT m.went) AS arrived
    FROM member AS m
    GROUP BY ALL
),
burst AS (
    SELECT
        n.group, n.burst,
        list(n.log_offset) AS rebalances,
        min(n.at_ms) AS began_ms,
        max(n.at_ms + n.took_ms) AS ended_ms,
        arg_min(n.members_before, n.at_ms) AS members_before,
        arg_max(n.members_after, n.at_ms) AS members_after,
        sum(n.lost_ms) AS lost_ms,
        sum(n.read_twice) AS read_twice,
        sum(greatest(coalesce(n.counts['left'], 0) - 10, 0) + greatest(coalesce(n.counts['expired'], 0) - 10, 0))
            AS unnamed_gone,
        sum(greatest(coalesce(n.counts['joined'], 0) - 10, 0)) AS unnamed_arrived
    FROM numbered AS n
    GROUP BY ALL
)
SELECT
    b.*,
    b.members_before >= 2
    AND 3 * (coalesce(r.gone, 0) + b.unnamed_gone) >= 2 * b.members_before
    AND 2 * (coalesce(r.arrived, 0) + b.unnamed_arrived) >= b.members_before
    AND b.ended_ms - b.began_ms <= $longest_deploy_ms AS is_deploy,
    b.members_before = 0 AS is_start
FROM burst AS b
LEFT JOIN replaced AS r ON r.group = b.group AND r.burst = b.burst
