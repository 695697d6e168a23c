-- How the lists of roll-ups are stored (docs/decisions/0059-packed-rollups.md). A question about the
-- links of a tag reads thousands of lists, and to find and decompress them was most of its time. So
-- lists stay in the page of their row, unless the row does not fit into a page, and are compressed
-- with LZ4, where the server has it. Rows that exist are stored anew when they change.

DO $$
DECLARE
    has_lz4 CONSTANT boolean := (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression');
    rollup text;
    list text;
BEGIN
    FOREACH rollup IN ARRAY ARRAY['rollup_delta', 'rollup_hour', 'rollup_day'] LOOP
        FOREACH list IN ARRAY rollup_columns() LOOP
            EXECUTE format('ALTER TABLE %I ALTER %I SET STORAGE MAIN', rollup, list);
            IF has_lz4 THEN
                EXECUTE format('ALTER TABLE %I ALTER %I SET COMPRESSION lz4', rollup, list);
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- Totals of days come from the index alone, once a vacuum has seen their pages. Each day adds a small
-- share of the rows, so do not wait for a fifth of them.
ALTER TABLE rollup_day SET (autovacuum_vacuum_insert_scale_factor = 0.01);
