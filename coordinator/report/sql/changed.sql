-- Members that came or went, a row each: `how` is join, or the way in which it went.
SELECT
    u.group, u.rebalance, u.at_ms + coalesce(u.c.after_ms, 0) AS at_ms,
    u.c.member.member_id AS member_id,
    coalesce(u.c.member.instance_id, '') AS instance_id,
    coalesce(u.c.member.client_id, '') AS client_id,
    coalesce(u.c.member.host, '') AS host,
    coalesce(u.c.member.software, '') AS software,
    coalesce(
        nullif(u.c.member.instance_id, ''),
        coalesce(u.c.member.client_id, '') || ' (' || coalesce(u.c.member.host, '') || ')'
    ) AS client,
    coalesce(u.c.session_timeout_ms, 0) AS session_timeout_ms,
    CASE
        WHEN u.c.kind = 'joined' THEN 'join'
        WHEN u.c.kind = 'left' AND contains(lower(u.c.reason), 'poll timeout') THEN 'slow_poll'
        WHEN u.c.kind = 'dropped' THEN 'dropped'
        ELSE u.c.kind
    END AS how
FROM (
    SELECT r.group, r.log_offset AS rebalance, r.at_ms, unnest(r.changes) AS c FROM rebalanced AS r
) AS u
WHERE u.c.kind <> 'resubscribed'
