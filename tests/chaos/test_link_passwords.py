"""A link with a password lets nobody in who does not know it, keeps the password to itself, and locks nobody else out."""

import base64
import collections
import concurrent.futures
import itertools
import os
import statistics
import subprocess
import time
import urllib.parse

import pytest
from clients import CHROME, Api, ask, unique_email
from destination import serve
from harness import observe, size, wait_until

PASSWORD = "open sesame & más"
COOKIE = "waymark_link"
FORM = "application/x-www-form-urlencoded"
NETWORKS = itertools.count()
STATUSES = (301, 302, 307, 308)
# Each case that reaches bcrypt takes its time.
TRIED = size((302, 307), STATUSES)
GUESSES = int(os.environ.get("CHAOS_GUESSES", size(200, 10_000)))
GUESSING_NETWORKS = size(10, 1000)
GUESSERS = 32
WRONG_PER_MINUTE = 5


def network():
    """An address of a network that nobody had before."""
    n = next(NETWORKS)
    return f"10.{n >> 8 & 255}.{n & 255}.7"


def basic(password, user="any"):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def form(password, name="password"):
    return urllib.parse.urlencode({name: password})


class Links:
    """Links with a password, and requests for them from a network that is new each time."""

    def __init__(self, stack):
        self.urls = stack.env["REDIRECTOR_URLS"].split()
        self.owner = Api(stack.env["LINKS_API_URL"])
        self.owner.register_and_login(unique_email())

    def make(self, **fields):
        link = self.owner.create(**{"original_url": "https://shop.example.com/", "password": PASSWORD, **fields})
        for at in range(len(self.urls)):
            wait_until(lambda at=at: self.get(link, at=at).status == 200, "the link to ask")
        return link

    def change(self, link, **fields):
        answer = self.owner.call("PATCH", f"/api/links/{link['id']}", fields)
        assert answer.status == 200, answer

    def ask(self, link, method, headers=None, body=None, at=0, address=None, query=""):
        sent = {"X-Forwarded-For": address or network(), "Accept": "text/html", "User-Agent": CHROME, **(headers or {})}
        return ask(self.urls[at], method, f"/{link['slug']}{query}", {k: v for k, v in sent.items() if v is not None}, body)

    def get(self, link, cookie=None, **options):
        return self.ask(link, "GET", {"Cookie": f"{COOKIE}={cookie}"} if cookie is not None else None, **options)

    def post(self, link, body, content_type=FORM, **options):
        return self.ask(link, "POST", {"Content-Type": content_type}, body, **options)

    def program(self, link, header, **options):
        return self.ask(link, "GET", {"Accept": "*/*", "Authorization": header}, **options)

    def cookie(self, link, password=PASSWORD, **options):
        answer = self.post(link, form(password), **options)
        assert answer.status == 303, answer
        assert answer.headers["location"] == f"/{link['slug']}"
        name, _, value = answer.cookies[0].split(";")[0].partition("=")
        assert name == COOKIE
        return value


@pytest.fixture(scope="module")
def links(gates):
    return Links(gates)


@pytest.fixture(scope="module")
def by_status(links):
    return {status: links.make(redirect_status=status) for status in STATUSES}


@pytest.fixture(scope="module")
def cookies(links, by_status):
    return {status: links.cookie(link) for status, link in by_status.items()}


# Each is (name, what it asks of a link) and gets the links, one of them, its cookie and that of another link.
WRONG_BODIES = (
    *("password=wrong", "password=", "", "password", "=open+sesame", "passwort=x", "password=open+sesame", "PASSWORD=x"),
    *(form(PASSWORD.upper()), form(PASSWORD + " "), form(" " + PASSWORD), form(PASSWORD[:-1]), form(PASSWORD + "\0")),
    *(form(PASSWORD, "Password"), form(PASSWORD, "pass"), form(PASSWORD * 3), form(PASSWORD + "x" * 900), form("x" * 2000)),
    *("password=%ff", "password=%", "password=%00", form("' OR 1=1 --"), form("$2b$10$" + "a" * 53), form("*")),
    *(b"\xff\xfe" * 20, "{}", '{"password":"' + PASSWORD + '"}', "password=wrong&" + form(PASSWORD)),
)
WRONG_TYPES = ("text/plain", "application/json", "multipart/form-data; boundary=x", "", None, FORM + "x")
WRONG_HEADERS = (
    *(basic("wrong"), basic(""), basic(PASSWORD.upper()), basic(PASSWORD + "x"), basic(PASSWORD, "") + "!", "Basic", "Basic ="),
    *("Bearer " + PASSWORD, PASSWORD, "Basic " + PASSWORD, basic(PASSWORD).replace("Basic ", "Digest "), basic(PASSWORD)[:-4]),
    *("Basic " + base64.urlsafe_b64encode(b"\xff\xff:" + PASSWORD.encode()).decode()[3:], basic("x" * 400), "Basic " + "A" * 3000),
)
METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND")


def forged(cookie):
    """What somebody without the password could make of a cookie that was right."""
    expires, _, signature = cookie.partition(".")
    later = str(int(expires) + 3600)
    return (
        *("", ".", "x", expires, expires + ".", "." + signature, signature, later + "." + signature, "0." + signature),
        *("-" + cookie, "+" + cookie, "0" + cookie, cookie + "0", cookie + "=", " ".join(cookie), cookie.upper().replace("0", "O")),
        *(cookie[:-1], cookie[:-2], cookie[1:], expires + "," + signature, expires + ".." + signature, f"{later}.{'0' * 64}"),
        *(f"{expires}.{signature[::-1]}", f"{expires}.{signature[:-1]}{'0' if signature[-1] != '0' else '1'}", f"9{cookie}"),
        *(f"{expires}.{base64.b64encode(bytes.fromhex(signature)).decode()}", f"{expires}.{signature}.{signature}"),
    )


def test_what_is_not_the_password_leads_nobody_on(links, by_status, cookies):
    cases = through = sent_on = 0

    def judge(answer, allowed):
        nonlocal cases, through, sent_on
        cases += 1
        through += answer.status in STATUSES or bool(answer.cookies)
        sent_on += "location" in answer.headers
        assert answer.status in allowed, answer

    for status in TRIED:
        link = by_status[status]
        for body in WRONG_BODIES:
            judge(links.post(link, body), {403})
        for content_type in WRONG_TYPES:
            judge(links.post(link, form(PASSWORD), content_type), {403})
        for header in WRONG_HEADERS:
            judge(links.program(link, header), {401})
        for method in METHODS:
            judge(links.ask(link, method, {"Cookie": f"{COOKIE}={cookies[status]}"}), {405})
        for value in (*forged(cookies[status]), *(other for which, other in cookies.items() if which != status)):
            judge(links.get(link, value), {200})
        # A form that is sent again with the right cookie is still not forwarded.
        judge(links.ask(link, "POST", {"Content-Type": FORM, "Cookie": f"{COOKIE}={cookies[status]}"}, "password=wrong"), {403})
        judge(links.ask(link, "POST", {"Cookie": f"{COOKIE}={cookies[status]}"}, "anything"), {403})
        judge(links.ask(link, "HEAD"), {200})
        judge(links.ask(link, "GET", query="?password=" + urllib.parse.quote(PASSWORD)), {200})
        judge(links.ask(link, "POST", {"Content-Type": FORM, "Sec-Fetch-Site": "cross-site"}, form(PASSWORD)), {403})
    print(f"cases: {cases}, through: {through}, with a Location: {sent_on}")
    assert cases >= size(170, 340)
    assert through == sent_on == 0


def test_who_knows_the_password_is_let_in_at_every_redirector(links, by_status, cookies):
    for status, link in by_status.items():
        for at in range(len(links.urls)):
            # 301 and 308 would be cached.
            answer = links.get(link, cookies[status], at=at)
            assert answer.status == {301: 302, 308: 307}.get(status, status), answer
            assert answer.headers["location"] == "https://shop.example.com/"
            assert answer.headers["cache-control"] == "private, no-store"
            assert links.program(link, basic(PASSWORD), at=at).status == answer.status
            assert links.ask(link, "HEAD", {"Cookie": f"a=b; {COOKIE}={cookies[status]}"}, at=at).status == answer.status


def test_a_changed_password_ends_every_cookie_within_a_second(links):
    link = links.make()
    cookie = links.cookie(link)
    for password in ("another one", PASSWORD):
        links.change(link, password=password)
        changed = time.monotonic()
        last = {at: changed for at in range(len(links.urls))}
        while time.monotonic() < changed + 3:
            for at in last:
                asked = time.monotonic()
                if links.get(link, cookie, at=at).status == 302:
                    last[at] = asked
        assert max(last.values()) - changed <= 1, "an old cookie was accepted more than a second after the change"
        assert links.post(link, form("not this one")).status == 403
        assert links.get(link, links.cookie(link, password)).status == 302
    links.change(link, password=None)
    for at in range(len(links.urls)):
        wait_until(lambda at=at: links.get(link, at=at).status == 302, "the password to be gone")


def test_a_visit_counts_when_the_visitor_is_let_in_and_not_before(links):
    link = links.make()
    links.get(link)
    links.post(link, "password=wrong")
    cookie = links.cookie(link)
    links.get(link, cookie)
    links.program(link, basic(PASSWORD))
    links.owner.wait_for_visits(link["id"], 2)


# --- what the destination sees ---


@pytest.fixture
def destination():
    with serve() as server:
        yield server


def test_the_destination_sees_neither_the_password_nor_the_cookie(links, destination, tmp_path):
    port = destination.server_port
    host = "destination.example"
    for status in STATUSES:
        link = links.make(redirect_status=status, original_url=f"http://{host}:{port}/landing")
        for at, url in enumerate(links.urls):
            jar = str(tmp_path / f"{status}-{at}")
            command = ["curl", "-sS", "-L", "-o", os.devnull, "--resolve", f"{host}:{port}:127.0.0.1", "-H", f"X-Forwarded-For: {network()}"]
            browser = ["-c", jar, "-b", jar, "-H", "Accept: text/html", "--data-urlencode", f"password={PASSWORD}"]
            for how in (browser, [*browser, "--post301", "--post302"], ["-u", f"any:{PASSWORD}"]):
                subprocess.run([*command, *how, f"{url}/{link['slug']}?keep=1"], check=True, timeout=300)
    assert len(destination.seen) == 3 * len(STATUSES) * len(links.urls)
    for method, path, headers, body in destination.seen:
        assert (method, path, body) == ("GET", "/landing", b"")
        names = {name.lower() for name in headers}
        assert not names & {"cookie", "authorization", "content-type"}, str(headers)
        assert not any(word in str(headers) for word in ("sesame", COOKIE)), str(headers)


# --- floods ---


def test_wrong_passwords_limit_one_network_at_one_link(links):
    link, other = links.make(), links.make()
    guesser, neighbour = "203.0.113.5", "203.0.113.250"
    for _ in range(WRONG_PER_MINUTE):
        assert links.post(link, "password=wrong", address=guesser).status == 403
    for address in (guesser, neighbour):
        answer = links.post(link, form(PASSWORD), address=address)
        assert answer.status == 429 and 1 <= int(answer.headers["retry-after"]) <= 12, answer
        assert not answer.cookies
    assert links.post(other, form(PASSWORD), address=guesser).status == 303
    assert links.post(link, form(PASSWORD), address="203.0.114.5").status == 303
    assert links.post(link, form(PASSWORD), address="2001:db8:5::1").status == 303
    wait_until(lambda: links.post(link, form(PASSWORD), address=guesser).status == 303, "the limit to end")


def test_a_flood_of_guesses_lets_nobody_in_and_locks_nobody_out(gates, links, record_property):
    link = links.make()
    gates.make_links("beside", 10)
    gates.warm("beside", 10)
    plain = gates.visitors("beside", connections=16, rate=size(100, 1000), slug="beside", slugs=10)
    rest = observe(size(2, 20))
    each_has = GUESSES // GUESSING_NETWORKS
    guessing = [network() for _ in range(GUESSING_NETWORKS)]

    def guess(n):
        """Each network sends its guesses at once: taking turns, a thousand of them would stay below the limit."""
        return links.post(link, form(f"guess {n}"), address=guessing[n // each_has]).status

    with concurrent.futures.ThreadPoolExecutor(GUESSERS) as pool:
        flood_began = time.monotonic()
        answers = [pool.submit(guess, n) for n in range(GUESSES)]
        # In the middle of it the owner comes, who never was wrong, from elsewhere.
        wait_until(lambda: sum(each.done() for each in answers) > GUESSES // 10, "the flood to run")
        began = time.monotonic()
        wait_until(lambda: links.post(link, form(PASSWORD)).status == 303, "the owner to get in")
        took = time.monotonic() - began
        was_running = not all(each.done() for each in answers)
        counts = collections.Counter(each.result() for each in answers)
        flood_ended = time.monotonic()
    log = plain.stop()
    assert was_running, "the owner came after the flood: this proves nothing"
    assert set(counts) <= {403, 429, 503} and counts[429] > 0, counts
    assert counts[403] <= GUESSING_NETWORKS * WRONG_PER_MINUTE * (2 + (flood_ended - flood_began) / 60)
    assert set(log.counts()) == {302}
    record_property("guesses", f"{GUESSES} from {GUESSING_NETWORKS} networks: {dict(counts)}")
    record_property("the owner got in after", f"{took:.2f} s")
    record_property("p99 of plain links at rest", f"{log.p99_ms(*rest):.2f} ms")
    record_property("p99 of plain links beside it", f"{log.p99_ms(flood_began, flood_ended):.2f} ms")
    print(dict(counts), f"owner {took:.2f} s; p99 {log.p99_ms(*rest):.2f} ms, in the flood {log.p99_ms(flood_began, flood_ended):.2f} ms")


def test_the_time_of_an_answer_does_not_tell_how_wrong_a_password_is(links, record_property):
    """Wrong ones take a bcrypt each, whatever they have in common with the right one."""
    link = links.make()
    medians = {}
    for name, password in (("nothing", "zzzz"), ("all but the last letter", PASSWORD[:-1]), ("its length", "z" * len(PASSWORD))):
        took = []
        for _ in range(size(5, 100)):
            began = time.perf_counter()
            assert links.post(link, form(password)).status == 403
            took.append(time.perf_counter() - began)
        medians[name] = statistics.median(took) * 1000
        record_property(f"median of a wrong password that shares {name}", f"{medians[name]:.2f} ms")
    print(medians)
