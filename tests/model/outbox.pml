/*
 * The path of outbox rows to the topic. Two writers change two links. A row gets its id while its link is locked. Commits come
 * in any order, some never. Two relays share a lock, which expires only when no record of the last holder is in flight. The
 * holder checks its clock before it sends (outbox_relay.c: may_send). Kafka may accept a record and lose the acknowledgement,
 * and either relay may die at any time. With LOW_PRIORITY, some rows of the first link are expiry marks of the janitor. Rows of
 * high priority go first. A new change of the link raises the priority of its rows.
 */
#define IDS 4 /* three transactions with ids 1 to 3 */
#define NOBODY 9

byte next_id = 1;
bool locked[2] = false;
byte version[2] = 0; /* committed, by link */
byte row_link[IDS], row_version[IDS];
bool unpublished[IDS] = false; /* committed, not published */
bool low_priority[IDS] = false;
byte topic[2] = 0;       /* the last version on the topic, by link */
byte holder = NOBODY;
byte sent[4] = 0; /* ids in flight: two slots for each relay */
bool acked[4] = false;
byte writing = 2;
#ifdef CURSOR_BY_ID
byte cursor = 0;
#endif

#ifdef NO_PRIORITY_RAISE
#define raise_priority(link) skip
#else
#define raise_priority(link) \
	if \
	:: row_link[1] == link -> low_priority[1] = false \
	:: else \
	fi; \
	if \
	:: row_link[2] == link -> low_priority[2] = false \
	:: else \
	fi; \
	if \
	:: row_link[3] == link -> low_priority[3] = false \
	:: else \
	fi
#endif

#define nothing_in_flight() (sent[0] == 0 && sent[1] == 0 && sent[2] == 0 && sent[3] == 0)

active[2] proctype writer()
{
	byte link = 0, id = 0;
	do
	:: next_id < IDS ->
		if
		:: atomic { !locked[0] -> link = 0; locked[0] = true }
		:: atomic { !locked[1] -> link = 1; locked[1] = true }
		:: next_id == IDS -> break
		fi;
		if
		:: d_step { next_id < IDS -> id = next_id; next_id++; row_link[id] = link; row_version[id] = version[link] + 1 }
		:: d_step { next_id == IDS -> locked[link] = false }; break
		fi;
		if
		:: d_step { true -> raise_priority(link); version[link]++; unpublished[id] = true; locked[link] = false } /* commit */
#ifdef LOW_PRIORITY
		:: d_step { link == 0 -> low_priority[id] = true; version[link]++; unpublished[id] = true; locked[link] = false }
#endif
		:: d_step { true -> locked[link] = false }                                    /* rollback */
		fi;
		d_step { id = 0; link = 0 }
	:: else -> break
	od;
	writing--
}

inline arrive(id)
{
	/* The same version again, or the next one; never an older one, never a gap. */
	assert(row_version[id] == topic[row_link[id]] || row_version[id] == topic[row_link[id]] + 1);
	topic[row_link[id]] = row_version[id]
}

/* The connection to the partition leader: the records of a relay arrive in the order of its slots. */
active proctype kafka()
{
	byte i;
end:	do
	:: true ->
		atomic {
			if
			:: sent[0] > 0 && !acked[0] -> i = 0
			:: sent[1] > 0 && !acked[1] -> i = 1
			:: sent[2] > 0 && !acked[2] -> i = 2
			:: sent[3] > 0 && !acked[3] -> i = 3
			fi;
			if
			:: arrive(sent[i]); acked[i] = true
			:: arrive(sent[i]); sent[i] = 0 /* the acknowledgement is lost */
			:: sent[i] = 0                  /* not delivered */
			fi;
			i = 0
		}
	od
}

inline find_in_class(after, is_low_priority, found)
{
	found = after + 1;
	do
	:: found < IDS && (!unpublished[found] || low_priority[found] != is_low_priority) -> found++
	:: found >= IDS -> found = 0; break
	:: found < IDS && unpublished[found] && low_priority[found] == is_low_priority -> break
	od
}

/* The next row: high priority first, then low, each in order. after is the last row, or the start of the reader. */
inline find_after(after, found)
{
	if
	:: after > 0 && low_priority[after] -> find_in_class(after, true, found)
	:: else ->
		find_in_class(after, false, found);
		if
		:: found == 0 -> find_in_class(0, true, found)
		:: else
		fi
	fi
}

#ifdef CURSOR_BY_ID
#define START cursor
#else
#define START 0
#endif

#ifdef NO_FENCE
#define may_send() true
#define may_lock() true
#else
#define may_send() (holder == me)
#define may_lock() nothing_in_flight()
#endif
#ifdef FROZEN_BEFORE_SEND
#define SEND_STEP
#else
#define SEND_STEP atomic /* no freeze of seconds between the clock check and the send */
#endif

active[2] proctype relay()
{
	byte first = 0, second = 0;
	byte me = _pid - 3;
end:	do
	:: atomic { holder != me && may_lock() -> holder = me }
	:: d_step { /* a batch of two rows, cut before the second row of the same link */
			holder == me && sent[me * 2] == 0 && sent[me * 2 + 1] == 0 ->
			find_after(START, first);
			second = 0;
			if
			:: first > 0 -> find_after(first, second)
			:: else
			fi;
#ifndef TWO_ROWS_PER_LINK
			if
			:: second > 0 && row_link[first] == row_link[second] -> second = 0
			:: else
			fi
#endif
		};
		if
		:: SEND_STEP { (first > 0 && may_send()) -> sent[me * 2] = first }
		:: else
		fi;
		if
		:: SEND_STEP { (second > 0 && may_send()) -> sent[me * 2 + 1] = second }
		:: else
		fi;
		/* Waits until each is acknowledged or failed. */
		(sent[me * 2] == 0 || acked[me * 2]) && (sent[me * 2 + 1] == 0 || acked[me * 2 + 1]);
		d_step { /* all or none: outbox_set_published */
			if
			:: acked[me * 2] && (second == 0 || acked[me * 2 + 1]) ->
				unpublished[first] = false;
				unpublished[second] = false;
#ifdef CURSOR_BY_ID
				cursor = (second > first -> second : first);
#endif
			:: else
			fi;
			sent[me * 2] = 0; sent[me * 2 + 1] = 0;
			acked[me * 2] = false; acked[me * 2 + 1] = false;
			first = 0; second = 0
		}
	/* The relay dies before it records the acknowledgements, so that acknowledged rows are sent again. */
	:: d_step { holder == me -> holder = NOBODY }
	od
}

#define is_unread(id) (unpublished[id] && id > START)

/* With no unpublished row and no writer, the topic has the last versions. */
active proctype auditor()
{
end:	do
	:: d_step {
			writing == 0 && nothing_in_flight() && !is_unread(1) && !is_unread(2) && !is_unread(3) &&
			(topic[0] != version[0] || topic[1] != version[1]) -> assert(false)
		}
	od
}
