"""Terms: hashtags, words, phrases and mentions, the form in which two of them are the same, and where they occur."""

from bowerbird.model.terms.forms import Kind, family, kind_of, term_form
from bowerbird.model.terms.matcher import Matcher
from bowerbird.model.terms.reading import Reading, read_text

__all__ = ["Kind", "Matcher", "Reading", "family", "kind_of", "read_text", "term_form"]
