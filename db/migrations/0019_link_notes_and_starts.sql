-- Private notes of a link's owner (docs/decisions/0066-notes-in-a-table-of-their-own.md). Only links-api
-- may read them. They end with their link.
CREATE TABLE link_notes (
    link_id bigint PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    notes   text NOT NULL CHECK (length(notes) BETWEEN 1 AND 2000)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON link_notes TO waymark_links_api;

-- Until this time a link is not followed (docs/decisions/0068-a-link-starts-by-the-redirectors-clock.md).
-- NULL = from its creation on. links-api keeps it before expires_at.
ALTER TABLE links ADD COLUMN starts_at timestamptz;
