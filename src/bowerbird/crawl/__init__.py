"""The engine: worker, dispatcher, scheduler, session; flows and crawl files; the seeder."""
