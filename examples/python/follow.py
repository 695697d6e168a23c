#!/usr/bin/env python3
"""Follows all visits of a workspace by the API, without Kafka, and prints each as one line of JSON.

    API_URL=https://api.sho.rt API_KEY=wm_… ./follow.py place

The API key needs the scope visits:read. The file keeps the place between two runs. If the program is killed, the visits
of one page may come again: event_id tells which.
"""

import http.client
import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

POLL_S = float(os.environ.get("POLL_S", "60"))


def get(cursor):
    """The page after this place; "": the first one."""
    query = urllib.parse.urlencode({"bots": "include", "limit": 1000, **({"cursor": cursor} if cursor else {})})
    request = urllib.request.Request(f"{os.environ['API_URL']}/api/visits?{query}", headers={"X-Api-Key": os.environ["API_KEY"]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def get_in_the_end(cursor):
    """Tries again while the API is away or a limit is reached. A key that is refused ends the program."""
    while True:
        try:
            return get(cursor)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503):
                sys.exit(f"{error.code}: {error.read().decode(errors='replace')}")
            wait_s = int(error.headers.get("Retry-After", POLL_S))
        except (OSError, http.client.HTTPException):
            wait_s = POLL_S
        time.sleep(wait_s)


def main():
    place = pathlib.Path(sys.argv[1])
    cursor = place.read_text() if place.exists() else ""
    while True:
        page = get_in_the_end(cursor)
        for visit in page["visits"]:
            print(json.dumps(visit), flush=True)
        more = page["pagination"]["next_cursor"]
        cursor = more or page["resume_cursor"]
        written = place.with_suffix(".new")
        written.write_text(cursor)
        written.replace(place)
        if not more:
            time.sleep(POLL_S)


main()
