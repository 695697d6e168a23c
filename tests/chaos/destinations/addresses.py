"""Names of hosts that are not on the global Internet, to which no packet may be sent.

The blocks are written down from the IANA special-purpose address registries once more, apart from lib/base/global_address.c, and say
what a packet counts as.
"""

import ipaddress
import random

NOT_GLOBAL_4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/3",
)  # fmt: skip
NOT_GLOBAL_6 = (
    "::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1",
)  # fmt: skip
# RFC 5214; these lie within any block.
ISATAP = "ip6 daddr & ::fdff:ffff:0:0 == ::5efe:0:0"
METADATA = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")


def ends_and_middles(rng):
    """Some addresses of each block."""
    for text in NOT_GLOBAL_4 + NOT_GLOBAL_6:
        block = ipaddress.ip_network(text)
        last = block.num_addresses - 1
        for offset in {0, 1, last, *(rng.randint(0, last) for _ in range(4))}:
            if offset <= last:
                yield str(block[offset])


def carriers(v4):
    """IPv6 addresses that stand for an IPv4 address."""
    number = int(ipaddress.IPv4Address(v4))
    high, low = number >> 16, number & 0xFFFF
    yield f"::ffff:{v4}"
    yield f"::ffff:{high:x}:{low:x}"
    yield f"::{v4}"
    yield f"::ffff:0:{v4}"
    yield f"64:ff9b::{v4}"
    yield f"64:ff9b:1::{v4}"
    yield f"2002:{high:x}:{low:x}::1"
    yield f"2001:0:{high:x}:{low:x}::1"
    yield f"2001:0:102:304:0:0:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"
    yield f"2606:4700::5efe:{v4}"
    yield f"2606:4700::200:5efe:{v4}"


def spellings(v4):
    """Spellings that some programs read as that IPv4 address."""
    a, b, c, d = ipaddress.IPv4Address(v4).packed
    number = int(ipaddress.IPv4Address(v4))
    yield str(number)
    yield hex(number)
    yield f"0x{number:08X}"
    yield f"0{number:o}"
    yield f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"
    yield f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"
    yield f"{a:04o}.{b:04o}.{c:04o}.{d:04o}"
    yield f"0x{a:02x}{b:02x}{c:02x}{d:02x}"
    yield f"{a}.{(b << 16) | (c << 8) | d}"
    yield f"{a}.{b}.{(c << 8) | d}"
    yield f"0x{a:x}.{b}.0{c:o}.{d}"
    yield f"{a}.{b}.{c}.{d}."
    yield f"%3{str(a)[0]}{str(a)[1:]}.{b}.{c}.{d}"
    yield "".join(f"%{ord(char):02x}" for char in v4)
    yield "".join(chr(0x2460 + int(char) - 1) if char in "123456789" else char for char in v4)
    yield "".join(chr(0xFF10 + int(char)) if char.isdigit() else char for char in v4)
    yield v4.replace(".", "\u3002")


def odd_authorities(v4):
    """Authorities on which parsers disagree."""
    yield f"example.com@{v4}"
    yield f"{v4}#@example.com"
    yield f"{v4}\\@example.com"
    yield f"example.com\\@{v4}"
    yield f"{v4}%00.example.com"
    yield f"{v4}%2f.example.com"
    yield f"{v4}%09"
    yield f"{v4}:80@example.com"
    yield f"[::ffff:{v4}%25lo]"
    yield f"[::1%25lo]:80#{v4}"


NAMES = (
    "localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "x.localhost", "ip6-localhost", "metadata",
    "metadata.google.internal", "instance-data", "kubernetes.default.svc", "0", "0x0", "00", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[0000::1]", "[::ffff:7f00:1]", "[fe80::1]", "[fe80::1%25lo]", "[ff02::1]", "[fec0::1]",
)  # fmt: skip


def bracketed(text):
    return f"[{text}]" if ":" in text else text


def not_global(seed):
    """Addresses for the answers of a name server."""
    rng = random.Random(seed)
    found = [*METADATA, "127.0.0.1", "::1", "10.0.0.1", *ends_and_middles(rng)]
    for v4 in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1"):
        found += [text for text in carriers(v4)]
    while len(set(found)) < 320:
        block = ipaddress.ip_network(rng.choice(NOT_GLOBAL_4 + NOT_GLOBAL_6))
        found.append(str(block[rng.randint(0, block.num_addresses - 1)]))
    return list(dict.fromkeys(found))


def hosts(seed):
    """At least 300 strings for the place between "http://" and "/"."""
    found = [*NAMES]
    for v4 in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "172.16.0.1", "100.64.0.1"):
        found += [*spellings(v4), *odd_authorities(v4)]
    found += [bracketed(text) for text in not_global(seed)]
    return list(dict.fromkeys(found))
