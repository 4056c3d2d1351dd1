"""CrossWOZ: Chinese cross-domain dialogues (Zhu et al., TACL 2020)."""
