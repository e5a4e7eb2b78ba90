"""SQL over a store or over exported Parquet, read-only, by DuckDB."""
