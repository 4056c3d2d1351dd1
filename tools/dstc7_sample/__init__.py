"""The invented talks and the example submissions for DSTC7."""
