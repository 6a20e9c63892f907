-- Events of groups, each once. An incident that goes on is written again; the last record has all of it.
WITH numbered AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY
                e.group, e.at_ms, e.cause, e.member_id, e.instance_id, e.client_id, e.host, e.software,
                CASE WHEN e.kind = 'incident' THEN -1 ELSE e.log_offset END
            ORDER BY e.log_offset DESC
        ) AS age
    FROM event_records AS e
)
SELECT
    n.lp, n.log_offset, n.at_ms, n.group, n.kind, n.cause, n.generation, n.member_id, n.instance_id, n.client_id,
    n.host, n.software, n.join_ms, n.plan_ms, n.sync_ms, n.outcome, n.json
FROM numbered AS n
WHERE n.age = 1
