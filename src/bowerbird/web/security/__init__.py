"""Who may do what: people, their sessions and roles, and what ties an action to the page it was taken on.

The way of a request: `watch.py` (host, origin, size, session) → a route → `guard.py` (role, token) → the handler.
"""

from bowerbird.web.security.doors import Door, check_door
from bowerbird.web.security.guard import Endpoint, Form, Guard, Handler, check_routes, open_to_all
from bowerbird.web.security.roles import Role
from bowerbird.web.security.sessions import Visitor

__all__ = ["Door", "Endpoint", "Form", "Guard", "Handler", "Role", "Visitor", "check_door", "check_routes", "open_to_all"]
