-- What writers of links need beyond the link itself (docs/decisions/0027-writing-links.md).

-- Answers to POSTs that came with an Idempotency-Key, for 24 hours. A row is written in the transaction that makes the links,
-- so there is an answer exactly if there are links. Neither the key nor the answer can be read here: an answer holds claim
-- tokens and destinations, and opens only to who sends the key again.
CREATE TABLE idempotency_keys (
    key_hash     bytea PRIMARY KEY CHECK (octet_length(key_hash) = 32),     -- SHA-256 of whose key it is and the key
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),    -- SHA-256 of path and body
    slugs        text[] COLLATE "C" NOT NULL,                               -- which links the answer tells of
    answer       bytea NOT NULL,                                            -- sealed: status, headers and body
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

-- How many links each user created in five minutes from a time on, whatever became of them: a quota that counted links would
-- forget those that were purged, and would count a million for each one that is added.
CREATE TABLE link_quota_uses (
    user_id bigint NOT NULL,
    since   timestamptz NOT NULL,
    links   bigint NOT NULL CHECK (links > 0),
    PRIMARY KEY (user_id, since)
) WITH (fillfactor = 50);
CREATE INDEX link_quota_uses_since_idx ON link_quota_uses (since);
INSERT INTO link_quota_uses (user_id, since, links)
    SELECT owner_id, date_bin('5 minutes', created_at, 'epoch'), count(*) FROM links
    WHERE owner_id IS NOT NULL AND created_at > now() - interval '1 day' GROUP BY 1, 2;

-- "reuse": the owner's link to a destination. The hash only finds; the destination itself is compared as well.
CREATE INDEX links_owner_destination_idx ON links (owner_id, hashtextextended(original_url, 0))
    WHERE owner_id IS NOT NULL AND state = 'ACTIVE';

GRANT SELECT, INSERT, UPDATE ON idempotency_keys, link_quota_uses TO waymark_links_api;
GRANT SELECT, DELETE ON idempotency_keys, link_quota_uses TO waymark_janitor;
-- Purging at once what its owner wants gone; the tombstone is written in the same statement.
GRANT DELETE ON links TO waymark_links_api;
GRANT SELECT, INSERT ON link_tombstones TO waymark_links_api;
