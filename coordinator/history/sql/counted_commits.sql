-- Commits and deletions that took effect.
SELECT *
FROM decided_commits
WHERE coalesce(outcome, 'committed') = 'committed'
