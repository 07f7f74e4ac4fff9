"""Tells from the address of a server whether it is local."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

# The address in an identity: after the model's name, before its parameters.
_ADDRESS = re.compile(r"@([^@\s()#]+)")


@lru_cache(maxsize=256)
def is_local(identity: str) -> bool:
    """Whether a model's server is on this machine or has a private address.

    Args:
        identity: The model's identity. It holds the server's address as ``@host:port/path`` if the model is an `OpenAIModel`
            or belongs to a framework.
    """
    addresses = _ADDRESS.findall(identity)
    try:
        host = urlsplit(f"//{addresses[-1]}").hostname if addresses else None
    except ValueError:
        return False
    if not host:
        return False
    try:
        address = ip_address(host)
    except ValueError:  # a name, not a number; a name without a dot is in the local network
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_private or address.is_loopback
