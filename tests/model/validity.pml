/*
 * Redis freezes and thaws: when may a redirector believe it again? What the relay sent before the freeze arrives after
 * the thaw, its heartbeat too. The relay tells Redis all that waits, then raises the beat; it raises it from a beat of
 * which it has heard that Redis has it. A redirector whose poll failed takes the first beat that it sees then, and
 * believes Redis again when the beat is PROOF higher.
 */
#ifndef PROOF
#define PROOF 2
#endif
#define CHANGES 2
#define FREEZES 2
#define BEATS 7

byte committed = 0;
bool is_frozen = false;
byte freezes = 0;
byte key_version = 0; /* Redis */
byte beat = 0;        /* Redis */
byte heard = 0;       /* the relay: a beat that Redis has */
byte sent[2] = 0;     /* beats on their way */

active proctype writer()
{
	do
	:: committed < CHANGES -> committed++
	:: else -> break
	od
}

active proctype redis()
{
end:	do
	:: d_step { !is_frozen && freezes < FREEZES -> is_frozen = true; freezes++ }
	:: is_frozen -> is_frozen = false
	:: d_step { !is_frozen && sent[0] > 0 -> beat = (sent[0] > beat -> sent[0] : beat); sent[0] = 0 }
	:: d_step { !is_frozen && sent[1] > 0 -> beat = (sent[1] > beat -> sent[1] : beat); sent[1] = 0 }
	od
}

active proctype relay()
{
	byte waits, next;
end:	do
	:: waits = committed;
		d_step { !is_frozen -> key_version = (waits > key_version -> waits : key_version); waits = 0 };
		d_step {
#ifdef RISES_UNHEARD
			next = (next > heard -> next : heard);
#else
			next = heard;
#endif
			next = (next < BEATS -> next + 1 : 0)
		}
		if
		:: d_step { next > 0 && sent[0] == 0 -> sent[0] = next }
		:: d_step { next > 0 && sent[1] == 0 -> sent[1] = next }
		:: true
		fi;
#ifndef RISES_UNHEARD
		next = 0;
#endif
		if
		:: d_step { !is_frozen -> heard = beat }
		:: true /* no answer in time */
		fi
	od
}

active proctype redirector()
{
	byte must = 0, first = 0;
	bool failed = false; /* since the last successful poll */
end:	do
	:: d_step { is_frozen -> failed = true; must = committed }
	:: d_step { !is_frozen && failed -> failed = false; first = beat }
	:: d_step { !is_frozen && !failed && beat >= first + PROOF -> assert(key_version >= must) }
	od
}
