"""Audits: what a mechanism, a score or a command can be seen to leak, whatever its proof says."""
