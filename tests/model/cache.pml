/*
 * The caches of one link. The model states which writes to Redis are allowed, when the relay is finished with a change, and
 * when a redirector may use a cached value. Each option in `cases` breaks one rule.
 *
 * The model has no time. Where the programs rely on time, the model has a guard: a set that Redis rejects for its age may be
 * dropped at any time, and is gone when the relay applies a row for the last time. There is one link, and no Bloom filter: "no
 * such link" is a version lower than all others.
 *
 * What the programs must do:
 *   - Apply a row to Redis twice: at once, and when everything in flight before it has expired. Only then is the row finished
 *     (NOTIFY_ONCE). A late set may find its key evicted and bring the older version back.
 *   - Give every set an age, also those of write-through and relay.
 *   - Let a repair replace older versions and create nothing (REPAIR_CREATES).
 *   - Take the generation of a set from before PostgreSQL was read or written (GENERATION_READ_LATE).
 *   - Let a value from Redis outlive its TTL through the feed only if the relay is finished with the events that the feed had
 *     delivered (TRACK_AT_ONCE). A value from PostgreSQL is never older than the feed.
 */
#define LAST 3 /* versions 1 to 3 are committed; the last one is the link's deletion */
#define NONE 0

#ifndef RESTARTS
#define RESTARTS 1 /* of Redis, from any snapshot */
#endif
#ifndef GENERATION_RAISES
#define GENERATION_RAISES 1 /* how often the relay can raise the generation */
#endif

/* PostgreSQL */
byte committed = 1;
byte generation = 0;
byte finished = 1; /* the relay is finished with rows up to this version: Redis has them */

/* Redis: the key of the link, the announcement of the relay, the key in a snapshot */
byte restarts = 0;
byte key_version = NONE, key_generation = 0;
byte announced = 0;                /* the generation; readers keep the last one that they saw */
bool announced_to_this_run = true; /* over a connection to the current run of the server */
byte saved_version = NONE, saved_generation = 0;

/* Sets in flight: they may arrive late, in any order, or never. */
byte late_version = NONE, late_generation = 0; /* write-through of links-api, or of the relay after a timeout */
byte fill_version = NONE, fill_generation = 0; /* of the redirector */
byte read_version = NONE;                      /* read from PostgreSQL, not sent yet */

/* The redirector */
byte feed_version = 1;    /* of the last event from the feed */
bool changed = false;     /* an event came since the read began (recent_changes.h) */
bool is_same_run = false; /* the announced run id is that of the connection */

#ifdef NO_GENERATION
#define is_valid(here, gen) true
#else
#define is_valid(here, gen) ((here) && key_generation == (gen))
#endif

#define is_older(set_version, version) (set_version != NONE && set_version < (version))

inline replace_key(version, gen)
{
	assert(key_generation != (gen) || key_version <= (version)); /* a version never decreases, a delete is never undone */
	key_version = version;
	key_generation = gen
}

/* The script that sets newer versions only: one step in Redis. */
inline set_key(version, gen)
{
#ifdef NO_VERSION_CHECK
	replace_key(version, gen)
#else
	if
	:: key_version == NONE || key_generation < gen || (key_generation == gen && key_version < (version)) ->
		replace_key(version, gen)
	:: else
	fi
#endif
}

active proctype writer()
{
	byte known;
	do
	:: committed < LAST ->
		known = announced; /* before the commit: a late set must not carry a newer generation */
		committed++;
#ifdef GENERATION_READ_LATE
		known = announced;
#endif
		if
		:: d_step { late_version == NONE -> late_version = committed; late_generation = known }
		:: true
		fi;
		known = 0
	:: else -> break
	od
}

active proctype network()
{
end:	do
	:: d_step { late_version != NONE -> set_key(late_version, late_generation); late_version = NONE; late_generation = 0 }
	:: d_step { late_version != NONE -> late_version = NONE; late_generation = 0 }
	:: d_step { fill_version != NONE -> set_key(fill_version, fill_generation); fill_version = NONE; fill_generation = 0 }
	:: d_step { fill_version != NONE -> fill_version = NONE; fill_generation = 0 }
	od
}

active proctype redis()
{
end:	do
	:: d_step { key_version != NONE -> key_version = NONE; key_generation = 0 } /* evicted or flushed */
	:: d_step { announced_to_this_run -> announced_to_this_run = false; key_version = NONE; key_generation = 0 } /* flushed */
	:: d_step { restarts < RESTARTS -> saved_version = key_version; saved_generation = key_generation }
	:: d_step {
			restarts < RESTARTS -> restarts++;
			key_version = saved_version; key_generation = saved_generation;
			saved_version = NONE; saved_generation = 0;
			announced_to_this_run = false; is_same_run = false
		}
	od
}

inline raise()
{
	d_step { generation++; raised_at = committed }
}

active proctype relay()
{
	byte known_restarts = 0, raised_at = NONE;
end:	do
	/* Applies a row to Redis, again while an older set may be in flight; then the row is finished. */
	:: raised_at == NONE && finished < committed ->
		if
#ifdef FINISH_EARLY
		:: finished++
#endif
		:: d_step {
				set_key(finished + 1, generation);
				if
#ifndef NOTIFY_ONCE
				:: is_older(late_version, finished + 1) || is_older(fill_version, finished + 1) || is_older(read_version, finished + 1)
#endif
				:: else -> finished++
				fi
			}
		/* A timeout: the set may still arrive. */
		:: d_step {
				generation < GENERATION_RAISES ->
				if
				:: late_version == NONE -> late_version = finished + 1; late_generation = generation
				:: else
				fi
			}
			raise()
		fi
	/* The connection for announcements shows another run of the server. */
	:: raised_at == NONE && known_restarts != restarts && generation < GENERATION_RAISES ->
		known_restarts = restarts;
		raise()
	:: raised_at != NONE && known_restarts != restarts -> /* restarted before the announcement */
		known_restarts = restarts
	/* Readers of the announcement treat older generations as misses. */
	:: d_step { raised_at != NONE && known_restarts == restarts -> announced = generation; announced_to_this_run = true };
		d_step {
			if
			:: raised_at > finished -> finished = raised_at
			:: else
			fi;
			raised_at = NONE
		}
	:: d_step { raised_at == NONE && known_restarts == restarts && !announced_to_this_run -> announced_to_this_run = true } /* after a flush */
	od
}

/* A tracked entry stays fresh beyond its TTL, and each later event replaces it. */
#define merge(version, is_tracked) assert(!(is_tracked) || (version) >= feed_version)

active proctype redirector()
{
	byte known, required;
end:	do
	:: d_step { announced_to_this_run -> is_same_run = true; known = announced; required = finished; changed = false };
		if
		:: d_step { /* a hit in Redis */
				is_valid(is_same_run, known) && key_version != NONE ->
				assert(key_version >= required); /* as current as the poll guarantees */
#ifdef TRACK_AT_ONCE
				merge(key_version, !changed)
#else
				/* Redis may be older than the feed until the relay is finished with the events of the feed. */
				merge(key_version, !changed && feed_version <= required)
#endif
			}
		:: d_step { fill_version == NONE -> required = 0; read_version = committed }; /* a miss: reads PostgreSQL */
#ifdef GENERATION_READ_LATE
			known = announced;
#endif
			d_step {
#ifdef NO_RECENT_CHANGES
				merge(read_version, true);
				fill_version = read_version; fill_generation = known;
#else
				merge(read_version, !changed);
				if
				:: !changed -> fill_version = read_version; fill_generation = known
				:: else
				fi;
#endif
				read_version = NONE
			}
		:: true
		fi;
		d_step { known = 0; required = 0; changed = false; is_same_run = false }
	od
}

/* The relay publishes committed versions in order, at any time, whether Redis has them or not. */
active proctype feed()
{
end:	do
	:: d_step {
			feed_version < committed -> feed_version++; changed = true;
#ifdef REPAIR_CREATES
			set_key(feed_version, announced)
#endif
		}
#ifndef REPAIR_CREATES
	/* A repair comes at any later time. It replaces older versions and creates no key. */
	:: d_step { key_version != NONE && key_version < feed_version -> replace_key(key_version + 1, key_generation) }
#endif
	od
}

#ifdef QUIESCENT_ONLY /* a weaker property, checked only with nothing in flight and all events received */
#define IS_CHECKED (late_version == NONE && fill_version == NONE && read_version == NONE && feed_version == committed)
#else
#define IS_CHECKED true
#endif

/* A reader that polls and reads in one step. */
active proctype reader()
{
end:	do
	:: d_step {
			is_valid(announced_to_this_run, announced) && key_version != NONE && key_version < finished && IS_CHECKED ->
			assert(false)
		}
	od
}
