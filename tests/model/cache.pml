/*
 * Caches of one link: who may write what into Redis, when the relay may forget a change, what a redirector may believe.
 * README.md says what is left out. Each option that is named in `cases` breaks one rule.
 *
 * Time does not appear; what rests on time in the programs is a guard here. A set that Redis refuses because it is too old
 * may be dropped at any time, and is surely over when a row is told for the last time.
 */
#define LAST 3 /* versions 1 to 3 are committed; the last one is the link's deletion */
#define NONE 0

#ifndef RESTARTS
#define RESTARTS 1 /* of Redis, from any snapshot */
#endif
#ifndef BUMPS
#define BUMPS 1 /* how often the relay can raise the generation */
#endif

/* PostgreSQL */
byte committed = 1;
byte generation = 0;
byte forgotten = 1; /* rows up to this version need not be told to Redis any more */

/* Redis: the link's key, the relay's announcement, what a snapshot holds of the key */
byte restarts = 0;
byte key_version = NONE, key_generation = 0;
byte announced = 0;         /* a generation, which those who once read it remember */
bool announced_here = true; /* by a relay that was connected to this very server */
byte saved_version = NONE, saved_generation = 0;

/* Sets that are on their way: they may arrive late, in any order, or never. */
byte late_version = NONE, late_generation = 0; /* links-api's write-through, or the relay's without an answer in time */
byte fill_version = NONE, fill_generation = 0; /* the redirector's */
byte read_version = NONE;                      /* what it read in PostgreSQL and has not sent yet */

/* The redirector */
byte applied = 1;      /* the last event that its feed brought */
bool changed = false;  /* since it began to read: changed_at[bucket] >= read_at */
bool polled = false;   /* the run id that it read is the one of its connection */

#ifdef NO_GENERATION
#define believes(here, gen) true
#else
#define believes(here, gen) ((here) && key_generation == (gen))
#endif

#define is_older(set_version, version) (set_version != NONE && set_version < (version))

inline replace_key(version, gen)
{
	assert(key_generation != (gen) || key_version <= (version)); /* no version goes back, no delete is undone */
	key_version = version;
	key_generation = gen
}

/* The script that sets if newer: one step in Redis. */
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
		known = announced; /* before the commit: a set that is late must not be of a generation that came after it */
		committed++;
#ifdef GENERATION_TAKEN_LATE
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
	:: d_step { key_version != NONE -> key_version = NONE; key_generation = 0 } /* evicted, or all was flushed */
	:: d_step { announced_here -> announced_here = false; key_version = NONE; key_generation = 0 } /* flushed */
	:: d_step { restarts < RESTARTS -> saved_version = key_version; saved_generation = key_generation }
	:: d_step {
			restarts < RESTARTS -> restarts++;
			key_version = saved_version; key_generation = saved_generation;
			saved_version = NONE; saved_generation = 0;
			announced_here = false; polled = false
		}
	od
}

inline bump()
{
	d_step { generation++; bumped_at = committed }
}

active proctype relay()
{
	byte known_restarts = 0, bumped_at = NONE;
end:	do
	/* A row is told, once more if something older may still be on its way, then it is forgotten. */
	:: bumped_at == NONE && forgotten < committed ->
		if
#ifdef FORGET_EARLY
		:: forgotten++
#endif
		:: d_step {
				set_key(forgotten + 1, generation);
				if
#ifndef TELL_ONCE
				:: is_older(late_version, forgotten + 1) || is_older(fill_version, forgotten + 1) || is_older(read_version, forgotten + 1)
#endif
				:: else -> forgotten++
				fi
			}
		/* No answer in time; it may arrive later. */
		:: d_step {
				generation < BUMPS ->
				if
				:: late_version == NONE -> late_version = forgotten + 1; late_generation = generation
				:: else
				fi
			}
			bump()
		fi
	/* Another server, seen on the connection that announces. */
	:: bumped_at == NONE && known_restarts != restarts && generation < BUMPS ->
		known_restarts = restarts;
		bump()
	:: bumped_at != NONE && known_restarts != restarts -> /* restarted before it was announced */
		known_restarts = restarts
	/* Whoever reads the announcement takes all that is older for a miss. */
	:: d_step { bumped_at != NONE && known_restarts == restarts -> announced = generation; announced_here = true };
		d_step {
			if
			:: bumped_at > forgotten -> forgotten = bumped_at
			:: else
			fi;
			bumped_at = NONE
		}
	:: d_step { bumped_at == NONE && known_restarts == restarts && !announced_here -> announced_here = true } /* after a flush */
	od
}

/* An entry is usable beyond its TTL if it is covered, and from then on each event replaces it. */
#define merge(version, is_covered) assert(!(is_covered) || (version) >= applied)

active proctype redirector()
{
	byte known, must;
end:	do
	:: d_step { announced_here -> polled = true; known = announced; must = forgotten; changed = false };
		if
		:: d_step { /* Redis has it */
				believes(polled, known) && key_version != NONE ->
				assert(key_version >= must); /* what the poll vouches for */
#ifdef COVER_AT_ONCE
				merge(key_version, !changed)
#else
				/* Until the relay has forgotten what the feed has brought Redis may be behind the feed. */
				merge(key_version, !changed && applied <= must)
#endif
			}
		:: d_step { fill_version == NONE -> must = 0; read_version = committed }; /* it has not: PostgreSQL */
#ifdef GENERATION_TAKEN_LATE
			known = announced;
#endif
			d_step {
#ifdef NO_CHANGED_AT
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
		d_step { known = 0; must = 0; changed = false; polled = false }
	od
}

/* The relay publishes whatever is committed, in order, at any time: whether Redis has it or not. */
active proctype feed()
{
end:	do
	:: d_step {
			applied < committed -> applied++; changed = true;
#ifdef REPAIR_SETS
			set_key(applied, announced)
#endif
		}
#ifndef REPAIR_SETS
	/* A repair, at any time later: it replaces what is older and creates nothing. */
	:: d_step { key_version != NONE && key_version < applied -> replace_key(key_version + 1, key_generation) }
#endif
	od
}

#ifdef AT_REST /* the weaker property: only when nothing is on its way and each event has arrived */
#define IS_TIME (late_version == NONE && fill_version == NONE && read_version == NONE && applied == committed)
#else
#define IS_TIME true
#endif

/* Whoever polls and reads at once. */
active proctype reader()
{
end:	do
	:: d_step {
			believes(announced_here, announced) && key_version != NONE && key_version < forgotten && IS_TIME ->
			assert(false)
		}
	od
}
