-- A topic that is not the one that was counted is noticed (docs/decisions/0039-at-the-edges-of-counting.md).

ALTER TABLE consumer_offsets
    -- Which record stood before next_offset (kafka_message_print): another one there is another topic. It says something only
    -- while record_offset = next_offset - 1: who moves next_offset without it knows of no record.
    ADD COLUMN record_offset bigint,
    ADD COLUMN record_print  bigint,
    -- Since when the partition stands still for an operator to decide, and why. Nobody counts from it meanwhile.
    ADD COLUMN stranded_at   timestamptz,
    ADD COLUMN stranded_why  text;

-- An operator's decision: counting goes on at next_offset, or at the oldest record that there is if that is 0. Consumers
-- have to be restarted then. Gives where the partition stood.
CREATE FUNCTION consumer_offsets_resume(stranded_topic text, stranded_partition integer, go_on_at bigint)
    RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    stood_at bigint;
BEGIN
    IF go_on_at < 0 THEN
        RAISE EXCEPTION 'an offset is not below 0';
    END IF;
    SELECT next_offset INTO stood_at FROM consumer_offsets
        WHERE topic = stranded_topic AND partition = stranded_partition AND stranded_at IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'partition % of % is not stranded', stranded_partition, stranded_topic;
    END IF;
    UPDATE consumer_offsets
        SET next_offset = go_on_at, published_offset = go_on_at, record_offset = NULL, record_print = NULL,
            stranded_at = NULL, stranded_why = NULL, updated_at = clock_timestamp()
        WHERE topic = stranded_topic AND partition = stranded_partition;
    RETURN stood_at;
END
$$;
REVOKE EXECUTE ON FUNCTION consumer_offsets_resume(text, integer, bigint) FROM PUBLIC;
