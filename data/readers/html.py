"""HTML to text: what surrounds the text (scripts, navigation, forms, code) goes, blocks become lines."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

GONE_TAGS = [
    *("script", "style", "noscript", "template", "nav", "footer", "aside", "form", "button", "select", "textarea"),
    *("iframe", "svg", "math", "canvas", "object", "video", "audio", "pre"),
]
BLOCK_TAGS = {
    *("body", "div", "main", "article", "section", "header", "hgroup", "address", "center", "details", "summary"),
    *("p", "blockquote", "figure", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "fieldset", "dialog"),
    *("ul", "ol", "menu", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"),
}
_BLANKS = re.compile(r"\s+")


def html_to_text(source: str) -> str:
    """Return the text of a page or a piece of one, a line for each block of it that holds any."""
    body = LexborHTMLParser(source).body
    if body is None:
        return ""
    body.strip_tags(GONE_TAGS, recursive=True)
    blocks: dict[int, int] = {body.mem_id: body.mem_id}
    """Element → the block it is in (itself if it is one); parents come before children."""
    lines: list[list[str]] = []
    current = -1
    for node in body.traverse(include_text=True):
        if node.is_text_node:
            parent = node.parent
            block = blocks.get(parent.mem_id, -1) if parent else -1
            if block != current:
                lines.append([])
                current = block
            lines[-1].append(node.text_content or "")
        elif node.tag == "br":
            current = -1
        elif node.is_element_node and node.mem_id not in blocks:
            parent = node.parent
            inner = blocks.get(parent.mem_id, -1) if parent else -1
            blocks[node.mem_id] = node.mem_id if node.tag in BLOCK_TAGS else inner
    return "\n".join(filter(None, (_BLANKS.sub(" ", "".join(line)).strip() for line in lines)))
