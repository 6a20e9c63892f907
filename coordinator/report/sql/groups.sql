-- Each group as a whole.
WITH clients AS (
    SELECT
        c.group, count(DISTINCT c.host) AS hosts,
        histogram(c.software) AS clients_of_version
    FROM (SELECT DISTINCT h.group, h.host, h.client, h.software FROM changed AS h) AS c
    GROUP BY ALL
)
SELECT
    x.group,
    count(*) AS rebalances,
    sum(x.lost_ms) AS lost_ms,
    sum(x.read_twice) AS read_twice,
    sum(x.moved) AS moved,
    max(x.members_after) AS most_members,
    arg_max(x.members_after, x.at_ms) AS members,
    max(x.partitions) AS partitions,
    arg_max(x.protocol, x.at_ms) FILTER (WHERE x.protocol <> '') AS protocol,
    arg_max(x.type, x.at_ms) AS type,
    coalesce(arg_max(x.is_eager, x.at_ms) FILTER (WHERE x.protocol <> ''), FALSE) AS is_eager,
    median(x.took_ms) AS took_ms,
    any_value(c.hosts) AS hosts,
    any_value(c.clients_of_version) AS clients_of_version
FROM explained AS x
LEFT JOIN clients AS c ON c.group = x.group
GROUP BY x.group
