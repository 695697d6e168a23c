/*
 * Rows of the outbox on their way to the topic. Two writers change two links; a row's id is drawn while its link is
 * locked, commits come in any order, some never. Two relays work under a lock that runs out only when nothing of its
 * last holder is under way any more; a holder looks at its clock before it sends (outbox_relay.c: may_send). Kafka may
 * take a record and its ack may be lost; either relay may die at any moment. With PATIENCE some rows of the first link are
 * the janitor's marks, which stand behind all that are urgent until the link is changed again.
 */
#define IDS 4 /* three transactions, ids 1 to 3 */
#define NOBODY 9

byte next_id = 1;
bool locked[2] = false;
byte version[2] = 0; /* committed, by link */
byte row_link[IDS], row_version[IDS];
bool waits[IDS] = false; /* committed and not published */
bool patient[IDS] = false;
byte topic[2] = 0;       /* the last version on the topic, by link */
byte holder = NOBODY;
byte sent[4] = 0; /* ids under way: two places for each relay */
bool acked[4] = false;
byte writing = 2;
#ifdef READS_BY_ID
byte cursor = 0;
#endif

#ifdef NO_HURRY
#define hurry(link) skip
#else
#define hurry(link) \
	if \
	:: row_link[1] == link -> patient[1] = false \
	:: else \
	fi; \
	if \
	:: row_link[2] == link -> patient[2] = false \
	:: else \
	fi; \
	if \
	:: row_link[3] == link -> patient[3] = false \
	:: else \
	fi
#endif

#define nothing_under_way() (sent[0] == 0 && sent[1] == 0 && sent[2] == 0 && sent[3] == 0)

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
		:: d_step { true -> hurry(link); version[link]++; waits[id] = true; locked[link] = false } /* commit */
#ifdef PATIENCE
		:: d_step { link == 0 -> patient[id] = true; version[link]++; waits[id] = true; locked[link] = false }
#endif
		:: d_step { true -> locked[link] = false }                                    /* roll back */
		fi;
		d_step { id = 0; link = 0 }
	:: else -> break
	od;
	writing--
}

inline arrive(id)
{
	/* Again, or the next; never back, never past one. */
	assert(row_version[id] == topic[row_link[id]] || row_version[id] == topic[row_link[id]] + 1);
	topic[row_link[id]] = row_version[id]
}

/* The connection to the partition's leader: a place's record comes before that of the relay's next place. */
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
			:: arrive(sent[i]); sent[i] = 0 /* the ack is lost */
			:: sent[i] = 0                  /* given up */
			fi;
			i = 0
		}
	od
}

inline find_of(least, is_low_priority, out)
{
	out = least + 1;
	do
	:: out < IDS && (!waits[out] || patient[out] != is_low_priority) -> out++
	:: out >= IDS -> out = 0; break
	:: out < IDS && waits[out] && patient[out] == is_low_priority -> break
	od
}

/* The urgent ones in their order, then the patient ones; least: what the last call gave, or where the reader stands. */
inline find_after(least, out)
{
	if
	:: least > 0 && patient[least] -> find_of(least, true, out)
	:: else ->
		find_of(least, false, out);
		if
		:: out == 0 -> find_of(0, true, out)
		:: else
		fi
	fi
}

#ifdef READS_BY_ID
#define FROM cursor
#else
#define FROM 0
#endif

#ifdef NO_FENCE
#define may_send() true
#define may_take() true
#else
#define may_send() (holder == me)
#define may_take() nothing_under_way()
#endif
#ifdef FROZEN_BEFORE_SEND
#define SENDS
#else
#define SENDS atomic /* between the look at the clock and the sending nobody is frozen for seconds */
#endif

active[2] proctype relay()
{
	byte one = 0, two = 0;
	byte me = _pid - 3;
end:	do
	:: atomic { holder != me && may_take() -> holder = me }
	:: d_step { /* a batch of two, and of it the rows up to the second of a link */
			holder == me && sent[me * 2] == 0 && sent[me * 2 + 1] == 0 ->
			find_after(FROM, one);
			two = 0;
			if
			:: one > 0 -> find_after(one, two)
			:: else
			fi;
#ifndef TWO_OF_A_LINK
			if
			:: two > 0 && row_link[one] == row_link[two] -> two = 0
			:: else
			fi
#endif
		};
		if
		:: SENDS { (one > 0 && may_send()) -> sent[me * 2] = one }
		:: else
		fi;
		if
		:: SENDS { (two > 0 && may_send()) -> sent[me * 2 + 1] = two }
		:: else
		fi;
		/* Until each is acked or given up. */
		(sent[me * 2] == 0 || acked[me * 2]) && (sent[me * 2 + 1] == 0 || acked[me * 2 + 1]);
		d_step { /* all or nothing: outbox_set_published */
			if
			:: acked[me * 2] && (two == 0 || acked[me * 2 + 1]) ->
				waits[one] = false;
				waits[two] = false;
#ifdef READS_BY_ID
				cursor = (two > one -> two : one);
#endif
			:: else
			fi;
			sent[me * 2] = 0; sent[me * 2 + 1] = 0;
			acked[me * 2] = false; acked[me * 2 + 1] = false;
			one = 0; two = 0
		}
	/* Dead after it had sent, before it could note it: what was acked is sent again. */
	:: d_step { holder == me -> holder = NOBODY }
	od
}

#define is_unread(id) (waits[id] && id > FROM)

/* Nothing waits, nobody writes: the topic has all. */
active proctype auditor()
{
end:	do
	:: d_step {
			writing == 0 && nothing_under_way() && !is_unread(1) && !is_unread(2) && !is_unread(3) &&
			(topic[0] != version[0] || topic[1] != version[1]) -> assert(false)
		}
	od
}
