"""Operations that wait: the timing wheel, the purgatory, and what waits in it."""
