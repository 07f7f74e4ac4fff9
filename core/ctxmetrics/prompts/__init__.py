"""The prompts: the text of each judgement in each language, the schema of its reply, and its version.

A pack is the texts of one language. English and Russian come with the library; `register_pack` adds others. A
language without a pack is asked in English.
"""

from ctxmetrics.prompts.packs import Pack, Step, get_pack, is_outdated, register_pack
from ctxmetrics.prompts.render import render
from ctxmetrics.prompts.replies import reply_schema

__all__ = ["Pack", "Step", "get_pack", "is_outdated", "register_pack", "render", "reply_schema"]
