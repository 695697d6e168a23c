-- Colors that accounts gave their tags (docs/decisions/0061-tags-are-changed-through-their-links.md). A
-- tag itself is only a text in links.tags. The janitor deletes the color of a tag that no link has.
CREATE TABLE tag_colors (
    owner_id bigint NOT NULL REFERENCES users (id),
    tag      text COLLATE "C" NOT NULL CHECK (length(tag) BETWEEN 1 AND 50),
    color    text NOT NULL CHECK (color ~ '^#[0-9a-f]{6}$'),
    PRIMARY KEY (owner_id, tag)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON tag_colors TO waymark_links_api;
GRANT SELECT, DELETE ON tag_colors TO waymark_janitor;
