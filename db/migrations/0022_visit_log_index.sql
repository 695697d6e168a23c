-- The index of the visit log by link ascends, although the newest visits are read first: pages of growing
-- keys stay full (docs/decisions/0071-bytes-of-a-visit.md). Clicks wait while it is built.

CREATE INDEX visit_log_by_link_idx ON visit_log (link_id, occurred_at);
DROP INDEX visit_log_link_idx;
COMMENT ON COLUMN visit_log.visitor_hash IS 'The first 16 bytes of the click''s. '''' = unknown';
