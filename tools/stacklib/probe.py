"""Small questions to a port of 127.0.0.1, each with a short limit of time."""

import asyncio
import struct

LIMIT_S = 2


async def talk(port, question, enough, tls=None):
    """Sends question and reads until enough(answer) or the end. Gives b"" when nobody answers. tls: an ssl.SSLContext."""
    writer = None
    try:
        async with asyncio.timeout(LIMIT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
            writer.write(question)
            answer = b""
            while not enough(answer) and (part := await reader.read(4096)):
                answer += part
            return answer
    except (OSError, TimeoutError):  # what TLS complains of is an OSError too
        return b""
    finally:
        if writer:
            writer.close()


async def http_status(port, path):
    """The status code, or None when there is no answer."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    answer = await talk(port, request, lambda bytes_: b"\r\n" in bytes_)
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


async def kafka_answers(port, tls=None):
    """Kafka serves requests: it answers ApiVersions, which needs neither topics nor a session."""
    size, api_versions, version, correlation_id, no_client_id = 10, 18, 0, 1, -1
    request = struct.pack(">ihhih", size, api_versions, version, correlation_id, no_client_id)
    return len(await talk(port, request, lambda bytes_: len(bytes_) >= 8, tls)) >= 8


async def redis_answers(port, tls=None):
    """With a password or without: one that asks for it serves."""
    answer = await talk(port, b"PING\r\n", lambda bytes_: b"\r\n" in bytes_, tls)
    return answer.startswith((b"+PONG", b"-NOAUTH"))


async def is_open(port):
    """Somebody listens there."""
    try:
        async with asyncio.timeout(LIMIT_S):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
