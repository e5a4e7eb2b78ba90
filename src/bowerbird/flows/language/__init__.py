"""The language of flow and crawl files: TOML with places, typed tables, durations, conditions."""
