/*
 * 410 before 404. A link expires at EXPIRES; a request that begins before EXPIRES + WINDOW must not find it gone. The
 * janitor marks it some time after it expired and purges it GRACE or more after the mark. A request reads once, and is
 * over LONGEST after it began. Time is a counter that everybody sees.
 */
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LONGEST
#define LONGEST 3
#endif
#ifndef GRACE
#define GRACE (WINDOW + LONGEST)
#endif
#ifndef READS
#define READS 1 /* each of which may take LONGEST */
#endif
#define EXPIRES 2
#define END (EXPIRES + WINDOW + GRACE + READS * LONGEST + 3)
#define REQUESTS 2
#define NEVER 255

byte now = 0;
byte marked_at = NEVER;
bool purged = false;
byte read_until[REQUESTS] = NEVER; /* when whoever reads is over at the latest */

#define nobody_is_late() (now < read_until[0] && now < read_until[1])

active proctype time()
{
end:	do
	:: d_step { now < END && nobody_is_late() -> now++ }
	od
}

active proctype janitor()
{
end:	do
	:: d_step { marked_at == NEVER && now >= EXPIRES -> marked_at = now }
#ifdef PURGES_UNMARKED
	:: d_step { !purged && now >= EXPIRES -> purged = true }
#else
	:: d_step { !purged && marked_at != NEVER && now >= marked_at + GRACE -> purged = true }
#endif
	od
}

active[REQUESTS] proctype request()
{
	byte began, reads;
	byte me = _pid - 2;
	do
	:: d_step { now <= EXPIRES + WINDOW -> began = now; reads = 0; read_until[me] = now + LONGEST };
		do
		:: d_step { /* the answer: 3xx before EXPIRES and 410 from then on; 404 if the row is gone */
				reads < READS ->
				assert(!purged || began >= EXPIRES + WINDOW);
				reads++;
				read_until[me] = (reads < READS -> now + LONGEST : NEVER)
			}
		:: reads == READS -> break
		od
	:: now > EXPIRES + WINDOW -> break
	od
}
