-- Where the redirector stood is no fact about the visitor: `region` now is the visitor's, an ISO 3166-2 subdivision of his
-- country ('DE-BY'). '' = not known, for all of them. The same for a tree that is being sorted to take the log's place.
DO $$
DECLARE
    tree regclass;
BEGIN
    LOCK TABLE visit_log IN ACCESS EXCLUSIVE MODE;
    FOREACH tree IN ARRAY array_remove(ARRAY[to_regclass('visit_log'), to_regclass('visit_log_sorted')], NULL) LOOP
        EXECUTE format('ALTER TABLE %s RENAME COLUMN region TO served_from', tree);
        EXECUTE format($columns$ALTER TABLE %s
                           ADD COLUMN region          text NOT NULL DEFAULT '',
                           ADD COLUMN browser_version text NOT NULL DEFAULT '',
                           ADD COLUMN os_version      text NOT NULL DEFAULT '',
                           ADD COLUMN referrer_source text NOT NULL DEFAULT ''$columns$, tree); -- 'Google'
    END LOOP;
END
$$;
COMMENT ON COLUMN visit_log.served_from IS 'REGION of the redirector that answered';
