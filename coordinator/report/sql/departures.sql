-- Members that went, each with its reason, `why`. One that left and came back within $return_ms was restarted. If a client
-- sends requests while it is away, its process lives: it did not poll in time, and its library gives no reason.
WITH visits AS (
    SELECT
        c.*,
        CASE WHEN lead(c.how) OVER in_order = 'join' THEN lead(c.at_ms) OVER in_order END AS back_ms,
        c.at_ms - min(c.at_ms) FILTER (WHERE c.how = 'join') OVER (PARTITION BY c.group, c.member_id) AS lived_ms
    FROM changed AS c
    WINDOW in_order AS (PARTITION BY c.group, c.client ORDER BY c.at_ms, c.how = 'join')
),
alive AS (
    SELECT DISTINCT v.group, v.client
    FROM visits AS v
    JOIN events AS e ON e.group = v.group AND e.client_id = v.client_id AND e.host = v.host
    WHERE
        v.how = 'left' AND e.kind = 'incident' AND e.cause IN ('commit_refused', 'unknown_member')
        AND e.at_ms BETWEEN v.at_ms AND coalesce(v.back_ms, v.at_ms + $return_ms)
)
SELECT
    v.group, v.at_ms, v.member_id, v.instance_id, v.client_id, v.host, v.software, v.client, v.lived_ms,
    CASE
        WHEN v.how NOT IN ('left', 'gone') THEN v.how
        WHEN coalesce(v.back_ms - v.at_ms > $return_ms, TRUE) THEN 'scaling'
        WHEN v.how = 'left' AND a.client IS NOT NULL THEN 'slow_poll'
        ELSE 'restart'
    END AS why,
    EXISTS (
        SELECT 1 FROM bursts AS b WHERE b.group = v.group AND b.is_deploy AND v.at_ms BETWEEN b.began_ms AND b.ended_ms
    ) AS in_deploy
FROM visits AS v
LEFT JOIN alive AS a ON a.group = v.group AND a.client = v.client
WHERE v.how <> 'join'
