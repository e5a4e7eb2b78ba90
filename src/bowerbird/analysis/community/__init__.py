"""Who belongs to a community: what profiles, posts and neighbours say of that, and how it is put together.

`ProfileReader(community, resolver)` and `WritingReader(community)` read signs, `weighed(signs, community)` and
`echo.proved(...)` make a verdict of them, `RelationModel` scores neighbours, and `CommunityJudge` does it page by page.
"""
