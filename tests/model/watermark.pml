/*
 * Watermarks of the relay: everything committed before T stands below the end that the watermark
 * names. Two relays with a lock that may expire at any step, one partition.
 *
 *   - A relay reads the clock (T = the number of commits), then all rows, then the end of the topic
 *     unless it has settled. It sends the rows one by one, each only while it holds the lock, and
 *     removes a row after its ack, perhaps long after it has lost the lock.
 *   - Kafka appends a record that was sent at any time, also after the client has given it up.
 *   - A read after which all rows were acked is followed by a watermark, if the lock is still held.
 *
 * Broken variants: NO_CONFIRM (the lock is not checked after the read), QUERY_EARLY (the end is
 * read when the lock is acquired, before the rows), KEEP_AFTER_FAILURE (a relay counts as settled
 * although a record failed).
 */
#define COMMITS 2
#define SENDS 4
#define TAKEOVERS 3
#define RELAYS 2
#define NONE 255

byte committed;       /* changes 0 to committed - 1 */
bool row[COMMITS];    /* in the outbox */
byte first[COMMITS];  /* the offset after the first record of each change; 0: none */
byte end;             /* of the topic */
byte holder = NONE;   /* of the lock */
byte takeovers;
byte sends;

mtype = { IDLE, SENT, ACKED, GIVEN_UP };
mtype state[RELAYS] = IDLE;
byte record[RELAYS]; /* the change in flight */
byte offset[RELAYS]; /* of its ack */
byte late = NONE;    /* a record that was given up and may still arrive */

inline append(change)
{
	if
	:: first[change] == 0 -> first[change] = end + 1
	:: else
	fi;
	end++
}

active proctype writer()
{
	do
	:: atomic { committed < COMMITS -> row[committed] = true; committed++ }
	:: committed == COMMITS -> break
	od
}

active [RELAYS] proctype broker()
{
	byte r = _pid - 1;
end_broker:
	do
	:: atomic { state[r] == SENT -> append(record[r]); offset[r] = end - 1; state[r] = ACKED }
	:: atomic { state[r] == SENT && late == NONE -> late = record[r]; state[r] = GIVEN_UP }
	:: atomic { late != NONE -> append(late); late = NONE }
	od
}

active [RELAYS] proctype relay()
{
	byte me = _pid - 1 - RELAYS;
	byte as_of, known, i;
	bool has_settled, has_failed;
	bool seen[COMMITS];
end_relay:
	do
	:: atomic {
		holder != me && takeovers < TAKEOVERS ->
		holder = me;
		takeovers++;
#ifdef QUERY_EARLY
		known = end;
		has_settled = true
#else
		has_settled = false
#endif
	   }
	:: holder == me ->
		as_of = committed;
		atomic {
			i = 0;
			do
			:: i < COMMITS -> seen[i] = row[i]; i++
			:: else -> break
			od;
			i = 0;
			has_failed = false
		}
		if
		:: !has_settled -> atomic { known = end; has_settled = true }
		:: else
		fi;
		do
		:: i < COMMITS && !seen[i] -> i++
		:: i < COMMITS && seen[i] ->
			if
			:: atomic { holder == me && sends < SENDS ->
				sends++; record[me] = i; state[me] = SENT }
			:: atomic { holder != me || sends == SENDS -> has_failed = true };
				break
			fi;
			if
			:: state[me] == ACKED ->
				atomic {
					if
					:: known <= offset[me] -> known = offset[me] + 1
					:: else
					fi;
					state[me] = IDLE
				}
				row[i] = false;
				i++
			:: atomic { state[me] == GIVEN_UP -> state[me] = IDLE; has_failed = true };
				break
			fi
		:: i == COMMITS -> break
		od;
		if
#ifdef KEEP_AFTER_FAILURE
		:: has_failed
#else
		:: has_failed -> has_settled = false
#endif
#ifdef NO_CONFIRM
		:: !has_failed ->
#else
		:: !has_failed && holder != me
		:: !has_failed && holder == me ->
#endif
			atomic {
				i = 0;
				do
				:: i < as_of -> assert(first[i] > 0 && first[i] <= known); i++
				:: else -> break
				od
			}
		fi
	od
}
