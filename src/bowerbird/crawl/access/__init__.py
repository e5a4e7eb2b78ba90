"""With what a service may be asked: credentials, signatures, logins, what kind of server it is."""
