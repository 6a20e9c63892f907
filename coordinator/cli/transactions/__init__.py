"""`coordinator transactions`: who has a transaction open, and how to end it."""
