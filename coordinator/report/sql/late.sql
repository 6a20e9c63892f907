-- The client that joined last, and long after all others, in most rebalances of a group with three members or more.
-- A client that began the rebalance itself is not late. The second rebalance of cooperative assignors does not count.
WITH waits AS (
    SELECT
        x.*,
        count(*) OVER (PARTITION BY x.group) AS of_all
    FROM explained AS x
    WHERE
        x.members_after >= 3 AND x.cause NOT IN ('protocols_changed', 'leader_rejoined') AND x.waited_for_last_ms >= 0 AND x.last_client IS NOT NULL AND x.type = 'classic'
)
SELECT
    w.group, w.last_client AS client,
    count(*) AS times,
    any_value(w.of_all) AS of_all,
    median(w.waited_for_last_ms) AS waited_ms,
    sum(w.waited_for_last_ms * CASE WHEN w.is_eager THEN w.partitions ELSE w.moved END) AS lost_ms
FROM waits AS w
WHERE w.last_client <> w.client OR w.cause <> 'member_joined'
GROUP BY w.group, w.last_client
QUALIFY row_number() OVER (PARTITION BY w.group ORDER BY count(*) DESC, w.last_client) = 1
