"""Templates to pages: everything escaped, nothing undefined, one style sheet inside each page."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(template: str, **facts: object) -> str:
    """Fill *template* of ``templates/``."""
    return _environment().get_template(template).render(facts)


def breakable(name: str) -> Markup:
    """Let a long name break behind its underscores, and only there if that is enough."""
    return Markup("_<wbr>").join(name.split("_"))  # join escapes what it joins


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["g"] = "{:g}".format  # 7.5, not 7.50, and 10, not 10.0
    environment.filters["breakable"] = breakable
    return environment
