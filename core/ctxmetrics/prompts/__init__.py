"""The prompts: one file a judgement, with its text, its reply schema and its version.

A pack is the texts of one language. English and Russian come with the library; `register_pack` adds others. A
language without a pack is asked in English.
"""

from ctxmetrics.prompts.packs import SCHEMAS, Pack, Step, get_pack, is_outdated, register_pack
from ctxmetrics.prompts.render import render

__all__ = ["SCHEMAS", "Pack", "Step", "get_pack", "is_outdated", "register_pack", "render"]
