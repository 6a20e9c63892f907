-- The newest commits and deletions of a group, and the `total` of those selected. One without effect has no change.
SELECT
    d.timestamp_ms,
    d.topic,
    d.partition,
    d.committed_offset AS offset,
    p.change,
    coalesce(d.metadata, '') AS metadata,
    d.leader_epoch,
    d.log_offset,
    d.outcome AS transaction,
    d.producer_id,
    count(*) OVER () AS total
FROM decided_commits AS d
LEFT JOIN progress AS p ON p.lp = d.lp AND p.log_offset = d.log_offset
WHERE
    d.group = $group
    AND d.timestamp_ms BETWEEN $since_ms AND $until_ms
    AND (array_contains($topics, '') OR array_contains($topics, d.topic))
    AND (array_contains($partitions, -1) OR array_contains($partitions, d.partition))
ORDER BY d.log_offset DESC
LIMIT $limit
