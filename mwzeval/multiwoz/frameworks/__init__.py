"""Live dialogues in the frameworks where people evaluate and train: one folder each.

Modules of a folder import their framework; nothing else imports them.
"""
