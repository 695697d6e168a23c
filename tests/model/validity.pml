/*
 * When is Redis valid again after a freeze? Commands that the relay sent before the freeze arrive after it, heartbeats too. The
 * relay applies all waiting changes to Redis and then sends the next heartbeat. It counts from a heartbeat that Redis has
 * confirmed. After a failed poll, a redirector remembers the first heartbeat that it sees. It uses Redis again when the
 * heartbeat has grown by HEARTBEATS_REQUIRED.
 */
#ifndef HEARTBEATS_REQUIRED
#define HEARTBEATS_REQUIRED 2
#endif
#define CHANGES 2
#define FREEZES 2
#define HEARTBEATS_MAX 7

byte committed = 0;
bool is_frozen = false;
byte freezes = 0;
byte key_version = 0; /* Redis */
byte heartbeat = 0;   /* Redis */
byte confirmed = 0;   /* relay: a heartbeat that Redis has */
byte sent[2] = 0;     /* heartbeats in flight */

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
	:: d_step { !is_frozen && sent[0] > 0 -> heartbeat = (sent[0] > heartbeat -> sent[0] : heartbeat); sent[0] = 0 }
	:: d_step { !is_frozen && sent[1] > 0 -> heartbeat = (sent[1] > heartbeat -> sent[1] : heartbeat); sent[1] = 0 }
	od
}

active proctype relay()
{
	byte waiting, next;
end:	do
	:: waiting = committed;
		d_step { !is_frozen -> key_version = (waiting > key_version -> waiting : key_version); waiting = 0 };
		d_step {
#ifdef UNCONFIRMED_HEARTBEATS
			next = (next > confirmed -> next : confirmed);
#else
			next = confirmed;
#endif
			next = (next < HEARTBEATS_MAX -> next + 1 : 0)
		}
		if
		:: d_step { next > 0 && sent[0] == 0 -> sent[0] = next }
		:: d_step { next > 0 && sent[1] == 0 -> sent[1] = next }
		:: true
		fi;
#ifndef UNCONFIRMED_HEARTBEATS
		next = 0;
#endif
		if
		:: d_step { !is_frozen -> confirmed = heartbeat }
		:: true /* timeout */
		fi
	od
}

active proctype redirector()
{
	byte required = 0, first = 0;
	bool failed = false; /* since the last successful poll */
end:	do
	:: d_step { is_frozen -> failed = true; required = committed }
	:: d_step { !is_frozen && failed -> failed = false; first = heartbeat }
	:: d_step { !is_frozen && !failed && heartbeat >= first + HEARTBEATS_REQUIRED -> assert(key_version >= required) }
	od
}
