"""Who may do what: people, their roles, and the tokens that tie an action to the page it was taken on."""

from bowerbird.web.security.guard import Form, Guard, Handler
from bowerbird.web.security.roles import Person, Role

__all__ = ["Form", "Guard", "Handler", "Person", "Role"]
