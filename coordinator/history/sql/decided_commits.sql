-- Commits and deletions with their `outcome`: 'committed', 'aborted', or 'open' for a transaction without an end in the
-- log; null outside of transactions. The next marker of the producer decides. A deletion takes effect at once, even
-- within a transaction.
WITH steps AS (
    SELECT lp, log_offset, producer_id, CAST(NULL AS BOOLEAN) AS committed
    FROM commits
    WHERE producer_id IS NOT NULL AND NOT tombstone
    UNION ALL
    SELECT lp, log_offset, producer_id, committed
    FROM transactions
),
ends AS (
    SELECT
        lp,
        log_offset,
        min(CASE WHEN committed IS NOT NULL THEN log_offset END) OVER backwards AS end_offset,
        min(CASE WHEN committed THEN log_offset END) OVER backwards AS commit_offset
    FROM steps
    WINDOW backwards AS (
        PARTITION BY lp, producer_id ORDER BY log_offset DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
)
SELECT c.*, CASE WHEN c.producer_id IS NOT NULL THEN 'committed' END AS outcome
FROM commits AS c
WHERE c.producer_id IS NULL OR c.tombstone
UNION ALL
SELECT
    c.*,
    CASE
        WHEN e.end_offset IS NULL THEN 'open'
        WHEN e.commit_offset = e.end_offset THEN 'committed'
        ELSE 'aborted'
    END AS outcome
FROM commits AS c
JOIN ends AS e ON c.lp = e.lp AND c.log_offset = e.log_offset
WHERE c.producer_id IS NOT NULL AND NOT c.tombstone
