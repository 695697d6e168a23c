"""One journey through the API with the client that openapi-python-client makes of the description."""

import sys

from waymark_client import AuthenticatedClient, Client, models
from waymark_client.api.accounts import login, register
from waymark_client.api.links import create_link, create_links, get_link_qr, list_links
from waymark_client.api.shares import create_share
from waymark_client.api.statistics import get_link_statistics, get_link_time_series

base, email = sys.argv[1:]
PASSWORD = "correct horse battery"


def take(answer):
    assert not isinstance(answer, models.Problem), answer
    return answer


client = Client(base_url=base)
take(register.sync(client=client, body=models.Registration(email=email, password=PASSWORD)))
token = take(login.sync(client=client, body=models.Credentials(email=email, password=PASSWORD))).access_token
client = AuthenticatedClient(base_url=base, token=token)
print("register")

link = take(create_link.sync(client=client, body=models.LinkCreation(original_url="https://example.com/one"))).link
assert link.redirect_status == 302
print("create")

items = [models.LinkCreation(original_url=f"https://example.com/{n}") for n in range(2, 6)]
results = take(create_links.sync(client=client, body=models.LinksCreation(links=items))).results
assert [result.status for result in results] == [201] * 4 and all(result.link for result in results)
print("bulk")

slugs, options = set(), {}
while True:
    page = take(list_links.sync(client=client, limit=2, **options))
    slugs |= {each.slug for each in page.links}
    if page.pagination.next_cursor is None:
        break
    options = {"cursor": page.pagination.next_cursor}
assert len(slugs) == 5, slugs
print("page")

totals = take(get_link_statistics.sync(link.id, client=client))
assert isinstance(totals, models.LinkStatistics) and totals.latency.count == 0
ranged = take(get_link_statistics.sync(link.id, client=client, country=["DE"], not_browser=["Chrome"]))
assert isinstance(ranged, models.RangeStatistics) and ranged.unique_visitors == 0
assert take(get_link_time_series.sync(link.id, client=client)).interval == "day"

image = get_link_qr.sync_detailed(link.id, client=client, format_=models.GetLinkQrFormat.PNG)
assert image.status_code == 200 and image.content.startswith(b"\x89PNG")
print("statistics")

csv = client.get_httpx_client().get(f"/api/links/{link.id}/visits", params={"format": "csv"})
assert csv.status_code == 200 and csv.text.count(",") > 9, csv.text
print("csv: by its HTTP client, because a method returns JSON or text, never both")

assert take(create_share.sync(client=client, body=models.ShareCreation(link_id=link.id))).token.startswith("wmshare_")
print("share")

with client.get_httpx_client().stream("GET", "/api/live", timeout=None) as live:
    assert live.status_code == 200 and next(live.iter_lines()) is not None
print("live: by its HTTP client, because the method waits for the end, which does not come")
