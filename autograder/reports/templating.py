"""Renders the templates: everything is escaped, an undefined name is an error."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.reports.feedback import percent


def render(template: str, **values: object) -> str:
    """Fill *template* of ``templates/``."""
    return _environment().get_template(template).render(values)


def breakable(name: str) -> Markup:
    """Let a browser break a long name after its underscores."""
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
    environment.globals["percent"] = percent
    environment.filters["g"] = "{:g}".format  # 7.5, not 7.50, and 10, not 10.0
    environment.filters["breakable"] = breakable
    return environment
