"""What a store tells of the keywords of an event: who is followed and why, frame by frame, and how good they were."""
