-- The rebalances of a history without events, as that of `coordinator tables` for any Kafka: from changes of groups. How
-- long partitions had no owner is not known, nor how a member went.
WITH chosen AS (
    SELECT b.*
    FROM rebalances AS b
    WHERE b.timestamp_ms BETWEEN $since_ms AND $until_ms AND b.group GLOB $pattern AND b.what <> 'deleted'
),
member AS (
    SELECT
        m.group, m.log_offset,
        {
            'kind': CASE m.change WHEN 'came' THEN 'joined' WHEN 'restarted' THEN 'replaced' ELSE 'gone' END,
            'after_ms': 0::BIGINT, 'reason': '', 'session_timeout_ms': 0::BIGINT,
            'member': {
                'member_id': m.member_id, 'instance_id': coalesce(m.group_instance_id, ''), 'client_id': m.client_id,
                'host': m.client_host, 'software': ''
            }
        } AS change
    FROM members AS m
    WHERE m.change <> 'stayed'
),
changes AS (
    SELECT
        n.group, n.log_offset,
        list(n.change ORDER BY n.change.kind, n.change.member.member_id) AS changes  -- those that are gone first
    FROM member AS n
    GROUP BY ALL
)
SELECT
    c.lp, c.log_offset, c.timestamp_ms AS at_ms, c.group,
    CASE c2.changes[1].kind
        WHEN 'gone' THEN 'member_gone'
        WHEN 'joined' THEN 'member_joined'
        WHEN 'replaced' THEN 'static_member_replaced'
        ELSE 'unknown'
    END AS cause,
    coalesce(c2.changes[1].member.member_id, '') AS member_id,
    coalesce(c2.changes[1].member.instance_id, '') AS instance_id,
    coalesce(c2.changes[1].member.client_id, '') AS client_id,
    coalesce(c2.changes[1].member.host, '') AS host,
    '' AS software,
    'stable' AS outcome,
    0::BIGINT AS took_ms,
    c.timestamp_ms // 86400000 AS day,
    coalesce(
        nullif(c2.changes[1].member.instance_id, ''),
        c2.changes[1].member.client_id || ' (' || c2.changes[1].member.host || ')',
        ''
    ) AS client,
    '' AS reason,
    FALSE AS subscription_changed,
    (c.members - c.came + c.went)::BIGINT AS members_before,
    c.members::BIGINT AS members_after,
    c.partitions::BIGINT AS partitions,
    c.moved::BIGINT AS moved,
    0::BIGINT AS stopped_ms,
    0::BIGINT AS silent_ms,
    0::BIGINT AS lost_ms,
    0::BIGINT AS read_twice,
    coalesce(c.protocol, '') AS protocol,
    c.type,
    NULL::VARCHAR AS last_client,
    NULL::BIGINT AS waited_for_last_ms,
    c2.changes,
    MAP {}::MAP(VARCHAR, BIGINT) AS counts
FROM chosen AS c
LEFT JOIN changes AS c2 ON c2.group = c.group AND c2.log_offset = c.log_offset
