"""Events of groups: records for operators, for consumers of `__group_events`, and for `groups explain`."""
