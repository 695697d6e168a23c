"""One journey through the API with the client that openapi-generator makes of the description in Python."""

import sys

from waymark_client import ApiClient, Configuration, models
from waymark_client.api import accounts_api, links_api, shares_api, statistics_api

base, email = sys.argv[1:]
PASSWORD = "correct horse battery"

accounts = accounts_api.AccountsApi(ApiClient(Configuration(host=base)))
accounts.register(models.Registration(email=email, password=PASSWORD))
token = accounts.login(models.Credentials(email=email, password=PASSWORD)).access_token
client = ApiClient(Configuration(host=base, access_token=token))
links, statistics, shares = links_api.LinksApi(client), statistics_api.StatisticsApi(client), shares_api.SharesApi(client)
print("register")

link = links.create_link(models.LinkCreation(original_url="https://example.com/1")).link
assert link.redirect_status == 302
print("create")

items = [models.LinkCreation(original_url=f"https://example.com/{n}") for n in (2, 3)]
results = links.create_links(models.LinksCreation(links=items)).results
assert [result.status for result in results] == [201] * 2
print("bulk")

slugs, cursor = set(), None
while True:
    page = links.list_links(limit=2, cursor=cursor)
    slugs |= {each.slug for each in page.links}
    cursor = page.pagination.next_cursor
    if cursor is None:
        break
assert len(slugs) == 3, slugs
print("page")

ranged = statistics.get_link_statistics(link.id, var_from="2026-01-01").actual_instance
assert isinstance(ranged, models.RangeStatistics) and ranged.humans == 0
print("statistics")

# Left alone, it asks for JSON.
csv = statistics.list_visits_without_preload_content(link.id, format="csv", _headers={"Accept": "text/csv"})
assert csv.status == 200 and csv.read().count(b",") > 9
print("csv")

assert shares.create_share(models.ShareCreation(link_id=link.id)).token.startswith("wmshare_")
print("share")

live = statistics.stream_visits_without_preload_content(_headers={"Accept": "text/event-stream"})
assert live.status == 200 and live.readline()
live.close()
print("live")
