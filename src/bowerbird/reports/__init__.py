"""Everything that only reads a store: status, pace, completeness, histories, absences. Every face reads through here."""
