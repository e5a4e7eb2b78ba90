"""The stage of `bowerbird demo`: a simulated service, a crawl of it, and the truth to compare with."""
