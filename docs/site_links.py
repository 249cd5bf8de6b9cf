"""Prepares the pages of docs/ for the site; `mkdocs.yml` lists this file as a hook."""  # noqa: INP001  # a program, no package

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # only the extra `docs` installs it, and the functions need its types alone
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LOG = logging.getLogger("mkdocs.hooks.site_links")  # `--strict` counts warnings below `mkdocs`
OUTSIDE = re.compile(r"\]\(\.\./([^)#\s]+)(#[^)\s]+)?\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ENDS_LIST = re.compile(r"\n\n {1,3}\S|^ {1,3}```", re.MULTILINE)


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", **_: object) -> str:
    """Link the files outside of docs/ to the repository, because the site does not contain them."""
    if ENDS_LIST.search(CODE.sub("", markdown)):  # for Python-Markdown; GitHub accepts three spaces
        LOG.warning("%s: indent paragraphs and code in a list by four spaces.", page.file.src_uri)

    def in_repository(link: re.Match[str]) -> str:
        path, heading = link[1], link[2] or ""
        if not (ROOT / path).exists():
            return link[0]  # the validation of MkDocs reports it
        return f"]({str(config.repo_url).rstrip('/')}/blob/main/{path}{heading})"

    return OUTSIDE.sub(in_repository, markdown)
