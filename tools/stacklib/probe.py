"""Health probes of ports on 127.0.0.1, each with a timeout that a slow machine does not reach."""

import asyncio
import struct

TIMEOUT_S = 10


async def exchange(port, request, is_complete, tls=None):
    """Sends request and reads until is_complete(response) or the end. Returns b"" without a response. tls: an ssl.SSLContext."""
    writer = None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
            writer.write(request)
            response = b""
            while not is_complete(response) and (part := await reader.read(4096)):
                response += part
            return response
    except (OSError, TimeoutError):  # errors of TLS are OSErrors
        return b""
    finally:
        if writer:
            writer.close()


async def http_status(port, path):
    """The status code, or None without a response."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    response = await exchange(port, request, lambda bytes_: b"\r\n" in bytes_)
    words = response.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


async def kafka_answers(port, tls=None):
    """True if Kafka responds to ApiVersions, which needs neither topics nor a session."""
    size, api_versions, version, correlation_id, no_client_id = 10, 18, 0, 1, -1
    request = struct.pack(">ihhih", size, api_versions, version, correlation_id, no_client_id)
    return len(await exchange(port, request, lambda bytes_: len(bytes_) >= 8, tls)) >= 8


async def redis_answers(port, tls=None):
    """True if Redis responds to PING. A demand for a password counts as well."""
    response = await exchange(port, b"PING\r\n", lambda bytes_: b"\r\n" in bytes_, tls)
    return response.startswith((b"+PONG", b"-NOAUTH"))


async def is_open(port):
    """True if the port accepts connections."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
