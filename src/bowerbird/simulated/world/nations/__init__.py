"""People of several nations as they fill in profiles and write: at home and abroad, carefully and carelessly, or not at all.

`tables` holds what they write, `people` draws who somebody is, `profiles` what the profile says, `tongues` which words posts are
made of. A world has them with `WorldSettings(mixed=True)`; others are as they always were.
"""
