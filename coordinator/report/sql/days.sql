-- Rebalances of each group and day by their reason and client, beside the group's median day, days without any included.
WITH totals AS (
    SELECT x.group, x.day, count(*) AS rebalances FROM explained AS x GROUP BY ALL
),
usual AS (
    SELECT
        t.group,
        list_aggregate(list_resize(list(t.rebalances), greatest($days, count(*)), 0), 'median') AS median_day
    FROM totals AS t
    GROUP BY ALL
)
SELECT
    x.group, x.day, x.why, x.client, count(*) AS rebalances, sum(x.lost_ms) AS lost_ms,
    any_value(u.median_day) AS median_day
FROM explained AS x
JOIN usual AS u ON u.group = x.group
GROUP BY x.group, x.day, x.why, x.client
ORDER BY x.group, x.day, x.why, x.client
