-- The rebalances of the chosen groups and time, with the facts of their JSON as columns. `client` names a client over
-- its restarts: its instance id, else its client id and its host.
WITH parsed AS (
    SELECT
        e.lp, e.log_offset, e.at_ms, e.group, e.cause, e.member_id, e.instance_id, e.client_id, e.host, e.software,
        e.outcome,
        greatest(coalesce(e.join_ms, 0), 0) + greatest(coalesce(e.sync_ms, 0), 0) AS took_ms,
        from_json(e.json, '{
            "trigger": {"reason": "VARCHAR", "subscription_changed": "BOOLEAN"},
            "members_before": "BIGINT", "members_after": "BIGINT", "partitions": "BIGINT", "partitions_moved": "BIGINT",
            "unowned_partition_ms": "BIGINT", "records_read_twice": "BIGINT", "protocol": "VARCHAR", "type": "VARCHAR",
            "last_to_join": {"instance_id": "VARCHAR", "client_id": "VARCHAR", "host": "VARCHAR", "software": "VARCHAR"},
            "last_join_ms": "BIGINT", "previous_join_ms": "BIGINT", "counts": "MAP(VARCHAR, BIGINT)",
            "changes": [{
                "kind": "VARCHAR", "after_ms": "BIGINT", "reason": "VARCHAR", "session_timeout_ms": "BIGINT",
                "member": {
                    "member_id": "VARCHAR", "instance_id": "VARCHAR", "client_id": "VARCHAR", "host": "VARCHAR",
                    "software": "VARCHAR"
                }
            }]
        }') AS j
    FROM events AS e
    WHERE e.kind = 'rebalance' AND e.at_ms BETWEEN $since_ms AND $until_ms AND e.group GLOB $pattern
)
SELECT
    p.* EXCLUDE (j),
    p.at_ms // 86400000 AS day,
    coalesce(nullif(p.instance_id, ''), p.client_id || ' (' || p.host || ')') AS client,
    coalesce(p.j.trigger.reason, '') AS reason,
    coalesce(p.j.trigger.subscription_changed, FALSE) AS subscription_changed,
    coalesce(p.j.members_before, 0) AS members_before,
    coalesce(p.j.members_after, 0) AS members_after,
    greatest(coalesce(p.j.partitions, 0), 0) AS partitions,
    greatest(coalesce(p.j.partitions_moved, 0), 0) AS moved,
    greatest(coalesce(p.j.unowned_partition_ms, 0), 0) AS stopped_ms,
    -- A member whose session expired held its share of the partitions for that long without processing them.
    coalesce(list_sum([c.session_timeout_ms FOR c IN p.j.changes IF c.kind = 'expired']), 0)
        * greatest(coalesce(p.j.partitions, 0), 0) // greatest(coalesce(p.j.members_before, 0), 1) AS silent_ms,
    stopped_ms + silent_ms AS lost_ms,
    greatest(coalesce(p.j.records_read_twice, 0), 0) AS read_twice,
    coalesce(p.j.protocol, '') AS protocol,
    coalesce(p.j.type, 'classic') AS type,
    coalesce(nullif(p.j.last_to_join.instance_id, ''), p.j.last_to_join.client_id || ' (' || p.j.last_to_join.host || ')')
        AS last_client,
    p.j.last_join_ms - p.j.previous_join_ms AS waited_for_last_ms,
    p.j.changes AS changes,
    p.j.counts AS counts
FROM parsed AS p
