"""`coordinator log`: logs on disk, shown, checked and repaired."""
