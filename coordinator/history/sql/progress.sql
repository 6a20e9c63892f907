-- Commits that took effect, without deletions, each with the `change` from the previous commit of its partition. The
-- first commit of a partition, and the first after a deletion, have no change. An offset that went back was reset.
WITH pairs AS (
    SELECT
        c.*,
        lag(committed_offset) OVER in_order AS previous_offset,
        lag(tombstone) OVER in_order AS follows_deletion
    FROM counted_commits AS c
    WINDOW in_order AS (PARTITION BY c.group, c.topic, c.partition ORDER BY log_offset)
)
SELECT
    p.lp,
    p.log_offset,
    p.timestamp_ms,
    p.group,
    p.topic,
    p.partition,
    p.committed_offset,
    CASE WHEN NOT p.follows_deletion THEN p.committed_offset - p.previous_offset END AS change
FROM pairs AS p
WHERE NOT p.tombstone
