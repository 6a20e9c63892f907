-- Departures of each client, without those of deploys.
SELECT
    d.group, d.why, d.client, d.client_id, d.instance_id, d.host, d.software,
    count(*) AS departures,
    list(d.lived_ms) FILTER (WHERE d.lived_ms IS NOT NULL) AS lives_ms
FROM departures AS d
WHERE NOT d.in_deploy
GROUP BY ALL
