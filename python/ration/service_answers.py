# SPDX-License-Identifier: BSL-1.0
"""Answers of the service, for `ration.service`. Whatever answers at its socket, a client gets the members that it reads, or a `ServiceError`."""
import http.client
import json
import time

PATIENCE = 30.0  # seconds for one answer
MOST_BYTES = 65536  # in one read
LARGEST_ANSWER = 1 << 30  # bytes; a list of a million jobs is smaller


class ServiceError(Exception):
    """The service refused a request, or gave no answer. `status` is that of HTTP; None without an answer."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status

    @property
    def is_temporary(self):
        """The service restarts, or its disk is full."""
        return self.status in (None, 503)


class ServiceUnavailable(ServiceError):
    """The socket has no listener."""


def invalid(status):
    return ServiceError("the service gave no valid answer; restart it", status)


def read(answer):
    """The body. One that ends early is a lost answer; one without end is not valid."""
    deadline, parts, size = time.monotonic() + PATIENCE, [], 0
    while some := answer.read(MOST_BYTES):
        parts.append(some)
        size += len(some)
        if size > LARGEST_ANSWER or time.monotonic() > deadline:
            raise invalid(answer.status)
    if answer.length:
        raise http.client.IncompleteRead(b"".join(parts), answer.length)
    return b"".join(parts)


def parsed(text, status):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(status) from error


def content_of(status, text):
    content = parsed(text, status)
    if not isinstance(content, dict):
        raise invalid(status)
    if 200 <= status < 300:
        return content
    raise ServiceError(content["error"] if isinstance(content.get("error"), str) else f"the service answered with status {status}", status)


def with_members(content, types):
    """The members that this client reads are there, with their types."""
    if isinstance(content, dict) and all(name in content and isinstance(content[name], of) for name, of in types.items()):
        return content
    raise invalid(200)


_MEMBERS_OF_END = {"stage": str, "exit_code": (int, type(None)), "signal": (int, type(None))}


def job_of(content):
    return with_members(content, {"id": int, "name": str, "label": str, "log": str, **_MEMBERS_OF_END})


def event_of(text):
    """(id, name, content) of an event; None for a comment."""
    try:
        fields = dict(line.split(": ", 1) for line in text.decode().splitlines() if ": " in line)
        if "data" not in fields:
            return None
        content = parsed(fields["data"], 200)
        if fields["event"] == "stage":
            with_members(content, {"job": int, **_MEMBERS_OF_END})
        return int(fields["id"]) if "id" in fields else None, fields["event"], content
    except (KeyError, ValueError) as error:
        raise invalid(200) from error
