-- Each rebalance with its reason, `why`. That of a join is the way in which the same client went before. A rebalance
-- that follows from another one, as the second of cooperative assignors, has the reason of that.
WITH of_join AS (  -- an old session may end a while after the client is back
    SELECT r.group, r.log_offset, d.why
    FROM rebalanced AS r
    ASOF JOIN departures AS d ON d.group = r.group AND d.client = r.client AND d.at_ms <= r.at_ms + $late_ms
    WHERE r.cause = 'member_joined' AND d.at_ms >= r.at_ms - $return_ms
),
of_departure AS (
    SELECT r.group, r.log_offset, arg_min(d.why, abs(d.at_ms - r.at_ms)) AS why
    FROM rebalanced AS r
    JOIN departures AS d ON d.group = r.group AND d.member_id = r.member_id
    WHERE r.cause IN ('member_left', 'member_gone', 'session_expired')
    GROUP BY ALL
),
burst AS (
    SELECT b.group, b.is_deploy, b.is_start, unnest(b.rebalances) AS log_offset FROM bursts AS b
),
first AS (
    SELECT
        r.*,
        CASE
            WHEN p.is_deploy THEN 'deploy'
            WHEN r.subscription_changed THEN 'subscription'
            WHEN r.cause IN ('topics_changed', 'regex_resolved') THEN 'topics'
            WHEN r.cause IN ('leader_rejoined', 'protocols_changed', 'unknown') AND r.at_ms <= $follow_up_ms + coalesce(
                lag(r.at_ms + r.took_ms) OVER (PARTITION BY r.group ORDER BY r.at_ms, r.log_offset), 0
            ) THEN NULL
            WHEN r.cause = 'leader_rejoined' OR r.cause = 'protocols_changed' AND r.partitions > lag(r.partitions)
                OVER (PARTITION BY r.group ORDER BY r.at_ms, r.log_offset) THEN 'topics'
            WHEN r.cause = 'protocols_changed' THEN 'subscription'
            WHEN r.cause = 'static_member_replaced' THEN 'replaced'
            WHEN r.cause IN ('no_sync', 'not_revoked', 'no_rejoin') THEN 'dropped'
            WHEN r.cause IN ('member_joined', 'member_left', 'member_gone')
                THEN coalesce(j.why, d.why, CASE WHEN p.is_start THEN 'start' ELSE 'scaling' END)
            WHEN r.cause = 'session_expired' THEN 'expired'
            ELSE 'other'
        END AS first_why
    FROM rebalanced AS r
    LEFT JOIN burst AS p ON p.group = r.group AND p.log_offset = r.log_offset
    LEFT JOIN of_join AS j ON j.group = r.group AND j.log_offset = r.log_offset
    LEFT JOIN of_departure AS d ON d.group = r.group AND d.log_offset = r.log_offset
),
paired AS (  -- a member that left for good, with another one that came for good right before or after it
    SELECT
        f.*,
        CASE
            WHEN f.first_why <> 'scaling' THEN f.first_why
            WHEN
                lead(f.cause = 'member_joined') OVER in_order <> (f.cause = 'member_joined')
                AND lead(f.at_ms) OVER in_order - f.at_ms <= $return_ms THEN 'replacement'
            WHEN
                lag(f.cause = 'member_joined') OVER in_order <> (f.cause = 'member_joined')
                AND f.at_ms - lag(f.at_ms) OVER in_order <= $return_ms THEN 'replacement'
            ELSE f.first_why
        END AS own_why
    FROM first AS f
    WINDOW in_order AS (PARTITION BY f.group, f.first_why = 'scaling' ORDER BY f.at_ms, f.log_offset)
)
SELECT
    f.* EXCLUDE (first_why, own_why, changes, counts, client, instance_id, host, software),
    coalesce(last_value(f.own_why IGNORE NULLS) OVER in_order, 'other') AS why,
    -- the client that began the first of them
    last_value(CASE WHEN f.own_why IS NOT NULL THEN f.client END IGNORE NULLS) OVER in_order AS client,
    last_value(CASE WHEN f.own_why IS NOT NULL THEN f.instance_id END IGNORE NULLS) OVER in_order AS instance_id,
    last_value(CASE WHEN f.own_why IS NOT NULL THEN f.host END IGNORE NULLS) OVER in_order AS host,
    last_value(CASE WHEN f.own_why IS NOT NULL THEN f.software END IGNORE NULLS) OVER in_order AS software,
    CASE
        WHEN f.members_before = 0 OR f.members_after = 0 THEN f.partitions
        ELSE f.partitions * abs(f.members_after - f.members_before) / greatest(f.members_before, f.members_after)
    END AS needed,
    f.type = 'classic' AND NOT contains(f.protocol, 'cooperative') AS is_eager
FROM paired AS f
WINDOW in_order AS (PARTITION BY f.group ORDER BY f.at_ms, f.log_offset)
