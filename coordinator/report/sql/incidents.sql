-- Incidents of each group and client.
WITH parsed AS (
    SELECT
        e.*,
        from_json(e.json, '{
            "other": {"client_id": "VARCHAR", "host": "VARCHAR"}, "error": "VARCHAR", "times": "BIGINT"
        }') AS j
    FROM events AS e
    WHERE e.kind = 'incident' AND e.at_ms BETWEEN $since_ms AND $until_ms AND e.group GLOB $pattern
)
SELECT
    p.group, p.cause, p.instance_id, p.client_id, p.host,
    sum(coalesce(p.j.times, 1)) AS times,
    -- A static member that is restarted is replaced once. Two that replace each other do it again and again.
    sum(coalesce(p.j.times, 1)) FILTER (
        WHERE
            p.cause = 'fenced' OR p.j.times >= 6
            OR p.j.times >= 3 AND (p.j.other.client_id, p.j.other.host) <> (p.client_id, p.host)
    ) AS fights,
    arg_max(p.j.error, p.at_ms) AS error,
    arg_max(p.j.other.client_id, p.at_ms) AS other_client_id,
    arg_max(p.j.other.host, p.at_ms) AS other_host
FROM parsed AS p
GROUP BY ALL
