-- What a deleted link was before, so that restoring brings it back as it was. NULL: it is not deleted, or was before this
-- column was there; such links come back ACTIVE.
ALTER TABLE links
    ADD COLUMN state_before_deletion text CHECK (state_before_deletion IN ('ACTIVE', 'DISABLED', 'EXPIRED'));
ALTER TABLE links
    ADD CONSTRAINT links_state_before_deletion CHECK (state_before_deletion IS NULL OR state = 'DELETED');

-- How long a LinkEvent may wait for Kafka and Redis (docs/decisions/0016-purge-in-bulk.md): 0 = somebody waits for it; 1 = a
-- mark of the janitor, which says what everybody knows by the clock; 2 = a purge. Such rows come by the hundred thousand,
-- and must not stand before what people change.
ALTER TABLE outbox ADD COLUMN patience smallint NOT NULL DEFAULT 0 CHECK (patience BETWEEN 0 AND 2);

DROP INDEX outbox_unpublished_idx;
DROP INDEX outbox_uncached_idx;
CREATE INDEX outbox_unpublished_idx ON outbox (id) WHERE NOT published AND patience = 0;
CREATE INDEX outbox_patient_idx ON outbox (id) WHERE NOT published AND patience > 0;
-- Redis is told of a patient row when Kafka is.
CREATE INDEX outbox_uncached_idx ON outbox (id) WHERE NOT cached AND (patience = 0 OR published);
-- For who changes a link whose mark still waits: it goes first.
CREATE INDEX outbox_marks_idx ON outbox (slug) WHERE NOT published AND patience = 1;

-- A queue that empties as fast as it fills: its dead rows stand before the first live one until they are vacuumed.
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
                        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

GRANT UPDATE (patience) ON outbox TO waymark_links_api;
