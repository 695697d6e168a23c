"""A wrong environment is refused before anything starts, by the start and by --check-config alike: with the variable and the wrong part."""

import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["WAYMARK_BUILD_DIR"])
SECRET = "0123456789abcdef0123456789abcdef"
EXIT_USAGE = 64

PG = {"PG_URL": "postgresql://name:sesame@127.0.0.1:1/waymark"}
REDIS = {"REDIS_URL": "redis://127.0.0.1:1"}
KAFKA = {"KAFKA_BROKERS": "127.0.0.1:1"}
BASE = {"PUBLIC_BASE_URL": "https://wm.example"}
SASL = {"KAFKA_SECURITY_PROTOCOL": "sasl_ssl", "KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SASL_USERNAME": "a", "KAFKA_SASL_PASSWORD": "sesame"}
VALID = {
    "redirector": PG | REDIS | KAFKA | BASE,
    "links-api": PG | REDIS | KAFKA | BASE | {"JWT_SECRET": SECRET, "REGISTRATION": "invite", "ANONYMOUS_LINKS": "off"},
    "analytics-consumer": PG | KAFKA,
    "janitor": PG,
}
MAIL = {"SMTP_URL": "smtps://a:sesame@mail.example", "MAIL_FROM": "links@sho.rt"}
EVERY = [
    ({"PG_URL": ""}, "PG_URL", "is required"),
    ({"PG_URL": "127.0.0.1"}, "PG_URL", "postgresql://user:password@host"),
    ({"PG_URL": "postgresql://["}, "PG_URL", "postgresql://user:password@host"),
    ({"PG_URL": "postgresql://a:sesame@h:port/d"}, "PG_URL", '"port"'),
    ({"PG_URL": "postgresql://h:1,i:70000/d"}, "PG_URL", '"70000"'),
    ({"PG_URL": "postgresql://a:sesame@h/d?sslmod=require"}, "PG_URL", '"sslmod" is not a parameter of libpq'),
    ({"PG_URL": "host=h password=sesame sslmod=require"}, "PG_URL", '"sslmod" is not a parameter of libpq'),
    ({"PG_URL": "postgresql://a:b/c?sesame=d@h/e"}, "PG_URL", "postgresql://user:password@host"),
    ({"PG_URL": "postgresql://a:b@sesame@h:5432/d"}, "PG_URL", "@ as %40"),
    ({"PG_URL": "postgres://a:sesame/b@h:5432/d"}, "PG_URL", "/ as %2F"),
    ({"PG_URL": "postgresql://a:12/sesame@h:5432/d"}, "PG_URL", "/ as %2F"),
    ({"PG_URL": "postgresql://a:sesame/b?sslmode=sesame@h/d"}, "PG_URL", "/ as %2F"),
    ({"PG_URL": "postgresql://a:b?sesame@h:5432/d"}, "PG_URL", "? as %3F"),
    ({"PG_URL": "postgresql://a:b%sesame@h:5432/d"}, "PG_URL", "% as %25"),
    ({"PG_URL": "postgresql://h/d?sslmode=on"}, "PG_URL", '"on"'),
    ({"PG_URL": "postgresql://h/d?sslmode=require&sslrootcert=/no/ca.pem"}, "PG_URL", "/no/ca.pem cannot be read: No such file"),
    ({"PG_URL_FILE": "/no/url", "PG_URL": ""}, "PG_URL_FILE", "/no/url"),
    ({"OPS_PORT": "70000"}, "OPS_PORT", "70000"),
    ({"OPS_PORT": "http"}, "OPS_PORT", '"http"'),
    ({"LOG_LEVEL": "loud"}, "LOG_LEVEL", '"loud"'),
]
POOLED = [({"PG_POOLED": "yes"}, "PG_POOLED", '"yes"')]
OF_KAFKA = [
    ({"KAFKA_BROKERS": ""}, "KAFKA_BROKERS", "is required"),
    ({"KAFKA_BROKERS": "a:1, b:2"}, "KAFKA_BROKERS", '" b:2"'),
    ({"KAFKA_BROKERS": "a:1,,b:2"}, "KAFKA_BROKERS", '""'),
    ({"KAFKA_BROKERS": "a:0"}, "KAFKA_BROKERS", '"a:0"'),
    ({"KAFKA_BROKERS": "a:1,b"}, "KAFKA_BROKERS", '"b" is not host:port'),
    ({"KAFKA_BROKERS": "kafka://a:1"}, "KAFKA_BROKERS", '"kafka://a:1"'),
    ({"KAFKA_SECURITY_PROTOCOL": "tls"}, "KAFKA_SECURITY_PROTOCOL", '"tls"'),
    ({**SASL, "KAFKA_SASL_USERNAME": ""}, "KAFKA_SASL_USERNAME", "is required"),
    ({**SASL, "KAFKA_SASL_PASSWORD": ""}, "KAFKA_SASL_PASSWORD", "is required"),
    ({**SASL, "KAFKA_SASL_MECHANISM": ""}, "KAFKA_SASL_MECHANISM", "is required"),
    ({**SASL, "KAFKA_SASL_MECHANISM": "SCRAM"}, "KAFKA_SASL_MECHANISM", '"SCRAM"'),
    ({**SASL, "KAFKA_SECURITY_PROTOCOL": "ssl"}, "KAFKA_SASL_USERNAME", "must be sasl_ssl"),
    ({**SASL, "KAFKA_SASL_TOKEN_URL": "https://id.example/token"}, "KAFKA_SASL_TOKEN_URL", "must be OAUTHBEARER"),
    ({**SASL, "KAFKA_SASL_SCOPE": "kafka"}, "KAFKA_SASL_SCOPE", "must be OAUTHBEARER"),
    ({"KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_SSL_CA_FILE": "/no/ca.pem"}, "KAFKA_SSL_CA_FILE", "/no/ca.pem cannot be read: No such file"),
    ({"KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_SSL_CA_FILE": "/etc/passwd"}, "KAFKA_SSL_CA_FILE", "no PEM certificates"),
    ({"KAFKA_SSL_CA_FILE": "/etc/passwd"}, "KAFKA_SSL_CA_FILE", "is not used"),
    ({"KAFKA_SSL_CERTIFICATE_FILE": "/etc/passwd"}, "KAFKA_SSL_CERTIFICATE_FILE", "is not used"),
    ({"KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_SSL_KEY_FILE": "/etc/passwd"}, "KAFKA_SSL_CERTIFICATE_FILE", "is required by KAFKA_SSL_KEY_FILE"),
    ({"KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_SSL_CERTIFICATE_FILE": "/no/cert.pem", "KAFKA_SSL_KEY_FILE": "/etc/passwd"}, "KAFKA_SSL_CERTIFICATE_FILE", "/no/cert.pem cannot be read"),
    ({"KAFKA_SECURITY_PROTOCOL": "ssl", "KAFKA_SSL_CERTIFICATE_FILE": "/etc/passwd", "KAFKA_SSL_KEY_FILE": "/etc/passwd"}, "KAFKA_SSL_CERTIFICATE_FILE", "are no PEM certificate"),
]
OF_SERVERS = [
    ({"REDIS_URL": "127.0.0.1:6379"}, "REDIS_URL", "the scheme"),
    ({"REDIS_URL": "redis://a b:1"}, "REDIS_URL", "the host"),
    ({"REDIS_URL": "redis://a:70000"}, "REDIS_URL", "the port"),
    ({"REDIS_URL": "redis://:@a:1"}, "REDIS_URL", "the password"),
    ({"REDIS_URL": "redis://a:1/x"}, "REDIS_URL", "the database number"),
    ({"REDIS_URL": "redis://a:sesame/b@h:1"}, "REDIS_URL", "/ as %2F"),
    ({"REDIS_URL": "redis://a:12/sesame@h:1"}, "REDIS_URL", "/ as %2F"),
    ({"REDIS_URL": "redis://a:b%sesame@h:1"}, "REDIS_URL", "% as %25"),
    ({"REDIS_URL": "rediss://a:sesame@h:70000/0"}, "REDIS_URL", "the port"),
    ({"REDIS_URL": "valkeys://:sesame@h:1"}, "REDIS_URL", "write rediss://"),
    ({"REDIS_URL": "redis+tls://h:1"}, "REDIS_URL", "write rediss://"),
    ({"REDIS_URL": "rediss://h:1", "REDIS_SSL_CA_FILE": "/no/ca.pem"}, "REDIS_SSL_CA_FILE", "/no/ca.pem cannot be read: No such file"),
    ({"REDIS_URL": "rediss://h:1", "REDIS_SSL_CA_FILE": "/etc/passwd"}, "REDIS_SSL_CA_FILE", "no PEM certificates"),
    ({"REDIS_SSL_CA_FILE": "/etc/passwd"}, "REDIS_SSL_CA_FILE", "is not used"),
    ({"REDIS_URL": "https://h:1"}, "REDIS_URL", "the scheme is not valid"),
    ({"REDIS_URL": "redis-cluster.example:1"}, "REDIS_URL", "the scheme is not valid"),
    ({"REDIS_URL": "redis:h:1"}, "REDIS_URL", "the scheme is not valid"),
    ({"REDIS_URL": "redis-sentinel://:sesame@h:26379,i:26379/mymaster"}, "REDIS_URL", "a proxy that follows the master"),
    ({"REDIS_URL": "redis+sentinel://h:26379/mymaster/0"}, "REDIS_URL", "a proxy that follows the master"),
    ({"REDIS_URL": "redis+cluster://h:1"}, "REDIS_URL", "a proxy that follows the master"),
    ({"REDIS_URL": "redis://h:26379,i:26379"}, "REDIS_URL", "the host"),
    ({"REDIS_URL": "unix://run/r.sock"}, "REDIS_URL", "the path of the socket"),
    ({"REDIS_URL": "/run/r.sock"}, "REDIS_URL", "unix://[user:password@]/path"),
    ({"REDIS_URL": "unix:///run/r.sock?password=sesame"}, "REDIS_URL", "the database number"),
    ({"REDIS_URL": f"redis://:{'sesame' * 171}@h:1"}, "REDIS_URL", "at most 1,024"),
    ({"PUBLIC_BASE_URL": "wm.example"}, "PUBLIC_BASE_URL", ""),
    ({"PUBLIC_BASE_URL": "https://wm.example:99999"}, "PUBLIC_BASE_URL", ""),
    ({"PUBLIC_BASE_URL": "https://wm.example/?a=b"}, "PUBLIC_BASE_URL", "query"),
    ({"TRUSTED_PROXIES": "10.0.0.0/8, proxy"}, "TRUSTED_PROXIES", '"proxy"'),
    ({"CLIENT_IP_HEADER": "X Real IP"}, "CLIENT_IP_HEADER", "the name of one header"),
    ({"CLIENT_IP_HEADER": "X-Real-IP, X-Forwarded-For"}, "CLIENT_IP_HEADER", "the name of one header"),
    ({"CLIENT_IP_HEADER": "X-Real-IP:"}, "CLIENT_IP_HEADER", "the name of one header"),
    ({"CLIENT_IP_HEADER": "forwarded"}, "CLIENT_IP_HEADER", "let the proxy send X-Forwarded-For"),
    ({"TRUSTED_PROXIES": "10.0.0.0/33"}, "TRUSTED_PROXIES", '"10.0.0.0/33"'),
    ({"TRUSTED_PROXIES": "10.0.0.1, 10.0.0.5/8"}, "TRUSTED_PROXIES", '"10.0.0.5/8" is an address inside a network'),
    ({"TRUSTED_PROXIES": "fd00::1/8"}, "TRUSTED_PROXIES", '"fd00::1/8"'),
    ({"TRUSTED_PROXIES": "10.0.0.1 " * 65}, "TRUSTED_PROXIES", "64"),
    ({"BLOCKED_HOSTS_FILE": "/no/hosts"}, "BLOCKED_HOSTS_FILE", "No such file"),
    ({"OPERATOR_LOGO_FILE": "/no/logo"}, "OPERATOR_LOGO_FILE", "No such file"),
    ({"OPERATOR_LOGO_FILE": "/etc/passwd"}, "OPERATOR_LOGO_FILE", "PNG, JPEG, WebP or SVG"),
    ({"ALLOWED_HOSTS_FILE": "/dev/null"}, "ALLOWED_HOSTS_FILE", "does not allow any host"),
    ({"HTTP_PORT": "9999", "OPS_PORT": "9999"}, "OPS_PORT", "9999"),
]
OF_REDIRECTOR = [
    ({"JOURNAL_DIR": ""}, "JOURNAL_DIR", "is required"),
    ({"JOURNAL_DIR": "/no/such/journal"}, "JOURNAL_DIR", "/no/such/journal cannot be created"),
    ({"JOURNAL_DIR": "/etc/passwd"}, "JOURNAL_DIR", "Not a directory"),
    ({"JOURNAL_DIR": "/etc/passwd/journal"}, "JOURNAL_DIR", "Not a directory"),
    ({"PUBLIC_BASE_URL": "https://:80"}, "PUBLIC_BASE_URL", '":80"'),
    ({"PUBLIC_BASE_URL": "https://a b/"}, "PUBLIC_BASE_URL", "space"),
    ({"PUBLIC_BASE_URL": "https://user@a/"}, "PUBLIC_BASE_URL", "a user"),
    ({"ROOT_URL": "https://"}, "ROOT_URL", "is not a host"),
    ({"ROOT_URL": "javascript:alert(1)"}, "ROOT_URL", '"javascript:alert(1)"'),
    ({"LINK_FEED_TOPIC": "a topic"}, "LINK_FEED_TOPIC", '"a topic"'),
    ({"REDIRECT_CACHE_CONTROL": "private\nX: y"}, "REDIRECT_CACHE_CONTROL", "printable"),
    ({"UNKNOWN_SLUGS_PER_MINUTE": "0"}, "UNKNOWN_SLUGS_PER_MINUTE", "write unlimited for no limit"),
    ({"REGION": b"\xff"}, "REGION", "UTF-8"),
]
OF_LINKS_API = [
    ({"JWT_SECRET": "x" * 31}, "JWT_SECRET", "32"),
    ({"JWT_SECRET": f"{SECRET},sesame,{SECRET}"}, "JWT_SECRET", "secret 2 has 6 bytes, but at least 32"),
    ({"JWT_SECRET": ",".join([SECRET] * 9)}, "JWT_SECRET", "has 9 secrets, but 1 to 8"),
    ({"HEALTH_URLS": "janitor=http://h:1, redirector=http://h:70000"}, "HEALTH_URLS", '"redirector=http://h:70000" is not NAME='),
    ({"HEALTH_URLS": "a=https://h:1"}, "HEALTH_URLS", '"a=https://h:1"'),
    ({"HEALTH_URLS": "a=http://[:::1]:1"}, "HEALTH_URLS", '"a=http://[:::1]:1"'),
    ({"HEALTH_URLS": "a=http://10.0.0.300:1"}, "HEALTH_URLS", '"a=http://10.0.0.300:1"'),
    ({"HEALTH_URLS": "janitor=http://h:1, redirectr=http://h:1"}, "HEALTH_URLS", '"redirectr=http://h:1" does not begin with the name of a service'),
    ({"LIVE_STREAMS": "1024"}, "LIVE_STREAMS", "1024 must be less than HTTP_CONNECTIONS, which is 1024"),
    ({"HTTP_CONNECTIONS": "600"}, "LIVE_STREAMS", "600 must be less than HTTP_CONNECTIONS, which is 600"),
    ({"RESERVED_SLUGS": "help, no/slug"}, "RESERVED_SLUGS", '"no/slug"'),
    ({"DESTINATION_SCHEMES": "myapp, javascript"}, "DESTINATION_SCHEMES", '"javascript" is not the scheme of an app'),
    ({"DESTINATION_SCHEMES": "MyApp"}, "DESTINATION_SCHEMES", '"MyApp" is not the scheme of an app'),
    ({"OWN_HOSTS": "wm.example, https://wm.example"}, "OWN_HOSTS", '"https://wm.example"'),
    ({"CORS_ORIGINS": "https://app.example, app.example"}, "CORS_ORIGINS", '"app.example"'),
    ({"MAIL_FROM": "a@b, c@d"}, "MAIL_FROM", "must be an address"),
    ({"CORS_ORIGINS": "https://app.example/"}, "CORS_ORIGINS", '"https://app.example/"'),
    ({"REGISTRATION": "Open"}, "REGISTRATION", '"Open" is not one of open, invite, closed'),
    ({"REGISTRATION": "unlimited"}, "REGISTRATION", '"unlimited"'),
    ({"REGISTRATION_DOMAINS": "example.com, ann@example.com"}, "REGISTRATION_DOMAINS", '"ann@example.com" is not a mail domain'),
    ({"REGISTRATION_DOMAINS": "*.example.com"}, "REGISTRATION_DOMAINS", '"*.example.com"'),
    ({"REGISTRATION_DOMAINS": "https://example.com"}, "REGISTRATION_DOMAINS", '"https://example.com"'),
    ({"ANONYMOUS_LINKS": "false"}, "ANONYMOUS_LINKS", '"false" is neither on nor off'),
    ({"PUBLIC_STATS": "0"}, "PUBLIC_STATS", '"0" is neither on nor off'),
    ({"ANONYMOUS_LINKS_PER_HOUR": "0"}, "ANONYMOUS_LINKS_PER_HOUR", "write unlimited for no limit"),
    ({"PASSWORD_HASH_COST": "99"}, "PASSWORD_HASH_COST", "99"),
]
OF_CONSUMER = [
    ({"GEOIP_DB": "/no/country.mmdb"}, "GEOIP_DB", "/no/country.mmdb cannot be read: No such file"),
    ({"GEOIP_DB": "/etc"}, "GEOIP_DB", "Is a directory"),
    ({"GEOIP_DB": "/etc/passwd"}, "GEOIP_DB", "MaxMind"),
    ({"UA_REGEXES": "/no/regexes.yaml"}, "UA_REGEXES", "/no/regexes.yaml cannot be read: No such file"),
    ({"UA_REGEXES": "/bin/true"}, "UA_REGEXES", ""),
    ({"CONSUMER_GROUP": "a group"}, "CONSUMER_GROUP", '"a group"'),
    ({"SESSION_TIMEOUT_MS": "10s"}, "SESSION_TIMEOUT_MS", '"10s"'),
]
OF_JANITOR = [
    ({"LOCK_AT_LEAST_S": "900"}, "LOCK_AT_LEAST_S", "LOCK_AT_MOST_S"),
    ({"DESTINATION_RESOLVERS": "1.1.1.1,dns.example"}, "DESTINATION_RESOLVERS", '"dns.example"'),
    ({"DESTINATION_RESOLVERS": "1.1.1.1:53,1.1.1.1:70000"}, "DESTINATION_RESOLVERS", '"1.1.1.1:70000"'),
    ({"DESTINATION_RESOLVERS": "1.1.1.1:dns"}, "DESTINATION_RESOLVERS", '"1.1.1.1:dns"'),
    ({"DESTINATION_RESOLVERS": "[2606:4700::1111]:0"}, "DESTINATION_RESOLVERS", '"[2606:4700::1111]:0"'),
    ({"EXPIRY_LINKS_PER_S": "0"}, "EXPIRY_LINKS_PER_S", "write unlimited for no limit"),
    ({"AUDIT_LOG_KEEP_DAYS": "0"}, "AUDIT_LOG_KEEP_DAYS", "write unlimited for no limit"),
    ({"CLOCK_SKEW_MAX_S": "none"}, "CLOCK_SKEW_MAX_S", '"none" is neither a whole number nor unlimited'),
    ({"DESTINATION_CHECKS": "yes"}, "DESTINATION_CHECKS", '"yes"'),
    ({"RETENTION_AFTER_MIDNIGHT_S": "86400"}, "RETENTION_AFTER_MIDNIGHT_S", "86400"),
    ({"MAIL_FROM": "links@sho.rt"}, "SMTP_URL", "is required with MAIL_FROM"),
    ({**MAIL, "MAIL_FROM": ""}, "MAIL_FROM", "must be an address"),
    ({**MAIL, "MAIL_FROM": "Short links"}, "MAIL_FROM", "must be an address"),
    ({**MAIL, "SMTP_URL": "smtp://a:sesame@mail.example"}, "SMTP_URL", "is not encrypted"),
    ({**MAIL, "SMTP_URL": "smtps://a:sesame/b@mail.example"}, "SMTP_URL", "/ as %2F"),
    ({**MAIL, "SMTP_URL": "smtps://a:sesame@mail.example:0"}, "SMTP_URL", "the port"),
    ({**MAIL, "SMTP_URL": "smtps://a:sesame@mail.example?ca_file=/no/ca.pem"}, "SMTP_URL", "/no/ca.pem cannot be read: No such file"),
    ({**MAIL, "DASHBOARD_URL": "short.example"}, "DASHBOARD_URL", ""),
]
# What several programs share is read by the same code, so one of them shows it.
TABLES = {
    "redirector": POOLED + OF_REDIRECTOR,
    "links-api": OF_SERVERS + OF_LINKS_API,
    "analytics-consumer": OF_KAFKA + OF_CONSUMER,
    "janitor": EVERY + OF_JANITOR,
}
CASES = [(program, *case) for program, table in TABLES.items() for case in table]


def run(program, changes, journal, *arguments):
    journal = {"JOURNAL_DIR": str(journal / "journal")} if program == "redirector" else {}
    sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return subprocess.run(
        [BUILD / "bin" / program, *arguments], env=VALID[program] | journal | sanitizers | changes,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("program", TABLES)
def test_a_valid_environment_is_accepted_and_nothing_is_created(program, tmp_path):
    done = run(program, {}, tmp_path, "--check-config")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("program", "changes"),
    [
        ("janitor", {"PG_URL": "postgresql://a%40b:%25%2F%3F%40:#@h:5432,i/d%40?sslmode=require&application_name=a%40b"}),
        ("janitor", {"PG_URL": "postgresql:///d?host=/run/postgresql"}),
        ("janitor", {"PG_URL": "host=h user=a password=b@/?:c dbname=d"}),
        ("janitor", {"PG_URL": f"postgresql://a:{'p' * 2000}@h/d"}),
        ("links-api", {"REDIS_URL": "redis://a%40b:%25%2F%3F%40:#@h:1/2"}),
        ("links-api", {"REDIS_URL": f"redis://:{'%70' * 1024}@h:1"}),
        ("links-api", {"REDIS_URL": "unix://a:b@/run/redis/redis%20a.sock?db=3"}),
        ("redirector", {"REDIS_URL": "unix:///run/redis/redis.sock"}),
        ("redirector", {"CLIENT_IP_HEADER": "CF-Connecting-IP"}),
        ("analytics-consumer", SASL | {"KAFKA_SASL_PASSWORD": "p" * 1024}),
        ("janitor", {"DESTINATION_RESOLVERS": "1.1.1.1, 1.1.1.1:53, 2606:4700::1111, [2606:4700::1111]:53"}),
        ("links-api", {"TRUSTED_PROXIES": "10.0.0.5, 10.0.0.0/8, 10.0.0.5/32, fd00::1, fd00::/8"}),
        ("links-api", {"HEALTH_URLS": "redirector=http://h:1/, links-api=http://10.0.0.3:1, analytics-consumer=http://[::1]:1, janitor=http://10-0-0-300.h2:1"}),
        ("janitor", {"SMTP_URL": "smtp+starttls://a%40b:p%2F%3A@h:587?ca_file=/etc/passwd", "MAIL_FROM": "Short links <links@sho.rt>"}),
        ("janitor", {"SMTP_URL": "smtp://127.0.0.1", "MAIL_FROM": "links@sho.rt", "DASHBOARD_URL": "https://h/app/"}),
        ("links-api", {"MAIL_FROM": "Short links <links@sho.rt>"}),
        ("links-api", {"HTTP_CONNECTIONS": "8", "LIVE_STREAMS": "7"}),
        ("links-api", {"JWT_SECRET": f"{SECRET},{SECRET}"}),
        ("links-api", {"LINKS_PER_DAY": "0", "HTTP_CONNECTIONS_PER_IP": "unlimited"}),
        ("janitor", {"AUDIT_LOG_ENTRIES_MAX": "unlimited", "CLOCK_SKEW_MAX_S": "unlimited"}),
        ("redirector", {"UNKNOWN_SLUGS_PER_MINUTE": "unlimited"}),
    ],
)
def test_each_right_form_is_accepted(program, changes, tmp_path):
    done = run(program, changes, tmp_path, "--check-config")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


OPEN = {"REGISTRATION": "", "ANONYMOUS_LINKS": ""}


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        (OPEN, ["REGISTRATION", "ANONYMOUS_LINKS"]),
        (OPEN | {"REGISTRATION": "closed"}, ["ANONYMOUS_LINKS"]),
        (OPEN | {"ANONYMOUS_LINKS": "off", "REGISTRATION_DOMAINS": "example.com"}, ["REGISTRATION"]),
        (OPEN | {"PUBLIC_BASE_URL": "https://203.0.113.7"}, ["REGISTRATION", "ANONYMOUS_LINKS"]),
        (OPEN | {"PUBLIC_BASE_URL": "https://[2001:4860::1]:8443"}, ["REGISTRATION", "ANONYMOUS_LINKS"]),
        *[(OPEN | {"PUBLIC_BASE_URL": url}, []) for url in (
            "http://wm.example", "https://localhost:8443", "https://wm.localhost", "https://nas.local", "https://wm.corp.internal", "https://go",
            "https://10.1.2.3", "https://172.20.0.1", "https://192.168.1.2", "https://127.0.0.1", "https://[::1]", "https://[fd00::1]",
        )],
    ],
)  # fmt: skip
def test_an_open_instance_with_a_public_address_is_valid_with_a_warning(changes, warned, tmp_path):
    done = run("links-api", changes, tmp_path, "--check-config")
    assert (done.returncode, re.findall(r"^([A-Z_]+): anybody", done.stderr, re.M)) == (0, warned), done.stderr
    assert bool(done.stderr) == bool(warned) and "is valid" in done.stdout


@pytest.mark.parametrize("program", [program for program, table in TABLES.items() if OF_KAFKA[0] in table])
def test_the_protocol_may_be_written_as_in_the_documents_of_kafka(program, tmp_path):
    done = run(program, SASL | {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, tmp_path, "--check-config")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize(("program", "changes", "name", "part"), CASES)
def test_a_wrong_environment_is_refused(program, changes, name, part, tmp_path):
    checked = run(program, changes, tmp_path, "--check-config")
    lines = [line for line in checked.stderr.splitlines() if line.startswith(f"{name}: ")]
    assert checked.returncode == EXIT_USAGE, checked.stderr
    assert any(part in line for line in lines), checked.stderr
    assert "sesame" not in checked.stderr, "passwords are not printed"


# Both read the same table. One case of each kind shows that the start does not go on.
@pytest.mark.parametrize(("program", "changes", "name", "part"), CASES[::7])
def test_the_start_says_the_same(program, changes, name, part, tmp_path):
    started, checked = run(program, changes, tmp_path), run(program, changes, tmp_path, "--check-config")
    assert (started.returncode, started.stderr) == (EXIT_USAGE, checked.stderr), (name, part)


@pytest.mark.parametrize(("text", "part"), [(None, "No such file"), ("a.topic\n", "line 1: "), ("# nothing\nx y\n", "line 2: ")])
def test_a_wrong_list_of_topics_is_refused_before_and_at_the_start(text, part, tmp_path):
    path = tmp_path / "topics"
    if text is not None:
        path.write_text(text)
    environment = {**os.environ, **KAFKA, "TOPICS_FILE": str(path)}
    for arguments in (["--check-config"], []):
        done = subprocess.run([BUILD / "bin/waymark-topics", *arguments], env=environment, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == EXIT_USAGE, done.stderr
        assert f"TOPICS_FILE: {path}: {part}" in done.stderr


@pytest.mark.parametrize(("replicas", "needed", "is_right"), [("3", "2", True), ("2", "2", True), ("2", "3", False), ("-1", "3", True), ("1", "-1", True)])
def test_more_insync_replicas_than_replicas_are_refused(replicas, needed, is_right, tmp_path):
    path = tmp_path / "topics"
    path.write_text("a.topic 1\n")
    environment = {**os.environ, **KAFKA, "TOPICS_FILE": str(path), "TOPICS_REPLICATION": replicas, "TOPICS_MIN_INSYNC": needed}
    done = subprocess.run([BUILD / "bin/waymark-topics", "--check-config"], env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == (0 if is_right else EXIT_USAGE), done.stderr
    assert is_right or "TOPICS_MIN_INSYNC: is greater than TOPICS_REPLICATION" in done.stderr


def test_a_topic_without_replicas_is_refused(tmp_path):
    path = tmp_path / "topics"
    path.write_text("a.topic 1\n")
    environment = {**os.environ, **KAFKA, "TOPICS_FILE": str(path), "TOPICS_REPLICATION": "0"}
    done = subprocess.run([BUILD / "bin/waymark-topics", "--check-config"], env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, "TOPICS_REPLICATION: is 0" in done.stderr) == (EXIT_USAGE, True), done.stderr
