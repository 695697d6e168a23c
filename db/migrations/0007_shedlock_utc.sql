-- ShedLock's own definition of its columns: times in UTC, without a zone. With a zone, PostgreSQL would read what ShedLock
-- writes (timezone('utc', CURRENT_TIMESTAMP)) as local time of that client's session, and a lock that it has just taken
-- would look as if it had run out hours ago, or would hours from now.
ALTER TABLE shedlock
    ALTER COLUMN lock_until TYPE timestamp USING lock_until AT TIME ZONE 'UTC',
    ALTER COLUMN locked_at TYPE timestamp USING locked_at AT TIME ZONE 'UTC';
