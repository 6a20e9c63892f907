-- The rebalances of each group by their reason and by the client that began them. `spared_ms` would not have been lost
-- if only the partitions had stopped that had to move.
SELECT
    x.group, x.why, x.client, x.instance_id, x.host, x.software,
    count(*) AS rebalances,
    count(*) FILTER (WHERE x.cause = 'member_joined') AS joins,
    sum(x.lost_ms) AS lost_ms,
    sum(x.read_twice) AS read_twice,
    sum(x.moved) AS moved,
    sum(x.needed) AS needed,
    coalesce(sum(x.stopped_ms * (1 - least(x.needed / nullif(x.partitions, 0), 1))) FILTER (WHERE x.is_eager), 0)
        AS spared_ms
FROM explained AS x
GROUP BY ALL
