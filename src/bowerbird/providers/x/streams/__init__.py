"""The X API's streams: what may be asked of them, their rules, their messages."""
