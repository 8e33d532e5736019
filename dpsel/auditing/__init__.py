"""Audits of mechanisms, scores and whole commands, carried out on all cores."""
