-- The events of all groups in a range of time, as JSON.
SELECT e.group, e.at_ms, e.log_offset, e.json
FROM events AS e
WHERE e.at_ms BETWEEN $since_ms AND $until_ms
ORDER BY e.group, e.log_offset
