/*
 * 410 before 404. A link expires at EXPIRES. A request that begins before EXPIRES + WINDOW must not get 404. The janitor marks
 * the link some time after it expires, and purges it at least GRACE after the mark. A request reads once and ends within
 * LONGEST_REQUEST. Time is one counter.
 */
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LONGEST_REQUEST
#define LONGEST_REQUEST 3
#endif
#ifndef GRACE
#define GRACE (WINDOW + LONGEST_REQUEST)
#endif
#ifndef READS
#define READS 1 /* each may take LONGEST_REQUEST */
#endif
#define EXPIRES 2
#define END (EXPIRES + WINDOW + GRACE + READS * LONGEST_REQUEST + 3)
#define REQUESTS 2
#define NEVER 255

byte now = 0;
byte marked_at = NEVER;
bool purged = false;
byte read_until[REQUESTS] = NEVER; /* the latest end of the request */

#define no_request_is_late() (now < read_until[0] && now < read_until[1])

active proctype time()
{
end:	do
	:: d_step { now < END && no_request_is_late() -> now++ }
	od
}

active proctype janitor()
{
end:	do
	:: d_step { marked_at == NEVER && now >= EXPIRES -> marked_at = now }
#ifdef PURGE_UNMARKED
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
	:: d_step { now <= EXPIRES + WINDOW -> began = now; reads = 0; read_until[me] = now + LONGEST_REQUEST };
		do
		:: d_step { /* the response: 3xx before EXPIRES, 410 after it, 404 without the row */
				reads < READS ->
				assert(!purged || began >= EXPIRES + WINDOW);
				reads++;
				read_until[me] = (reads < READS -> now + LONGEST_REQUEST : NEVER)
			}
		:: reads == READS -> break
		od
	:: now > EXPIRES + WINDOW -> break
	od
}
