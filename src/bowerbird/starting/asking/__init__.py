"""The services of a plan as lanes and streams: who asks what of whom, with which credentials, and what a call takes."""
