/* Each request is the script's arguments in the order that its contract in lua/scripts has. */
#include "lock/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "redis/script.h"

void wire_add_all(struct request *request, ...)
{
	const char *argument;
	va_list arguments;

	va_start(arguments, request);
	while ((argument = va_arg(arguments, const char *)))
		request->argv[request->argc++] = argument;
	va_end(arguments);
}

void wire_add_strays(struct request *request)
{
	request->strays = request->argc;
	wire_add(request, "0");
}

/* mode: of the hold that the request is about, or the want of the process. A request about a shared
 * hold or a slot declares the seventh key, too; lua/parts/base.lua says why others do not. */
static void begin(const struct lock_keys *keys, struct request *request,
		  const struct script *script, const char *mode)
{
	*request = (struct request){.script = script};
	wire_add(request, keys->name, keys->queue, keys->timeouts, keys->state, keys->log,
		 keys->ours);
	if (strcmp(mode, MODE_EXCLUSIVE) != 0)
		wire_add(request, keys->holders);
	request->keys = request->argc;
	wire_add(request, keys->channel);
}

void wire_begin(const struct lock_keys *keys, struct request *request, const struct script *script)
{
	begin(keys, request, script, MODE_EXCLUSIVE);
}

void wire_look(const struct lock_keys *keys, struct request *request, const char *what)
{
	begin(keys, request, &script_look, MODE_EXCLUSIVE);
	wire_add(request, what);
}

void wire_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES])
{
	snprintf(channel, CHANNEL_MAX_BYTES, "%s:%s", keys->channel, id);
}

static void demand_replicas(const struct lock *lock, struct request *request, const char *durable)
{
	request->replicas = lock->replicas;
	request->replicas_ms = lock->replicas_ms;
	request->durable = durable;
}

static const char *kind_word(const struct lock *lock)
{
	static const char *const words[] = {
		[LOCK_WRAP] = "w",
		[LOCK_WRAP_EARLY] = "v",
		[LOCK_ACQUIRE] = "a",
		[LOCK_BY_HAND] = "h",
	};

	return words[lock->starts ? LOCK_WRAP : lock->kind];
}

static void add_inherited(const struct lock *lock, struct request *request)
{
	for (int i = 0; i < lock->inherited_count; i++)
		wire_add(request, lock->inherited[i]);
}

void wire_ask(struct lock *lock, struct request *request, bool try)
{
	begin(&lock->keys, request, &script_acquire, lock->want);
	wire_add(request, lock->id, lock->request, kind_word(lock), lock->lease,
		 try ? "try" : "wait", lock->ticket);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, lock->limit, lock->by, lock->period);
	wire_add_strays(request);
	owner_draw_secret(lock->secret);
	wire_add(request, lock->secret, lock->want);
	if (lock->supersede && !*lock->newest) {
		request->age = request->argc;
		request->since_ms = lock->wanted_ms;
	}
	wire_add(request, lock->newest);
	add_inherited(lock, request);
	demand_replicas(lock, request, "granted");
}

void wire_renew(const struct lock *lock, struct request *request)
{
	begin(&lock->keys, request, &script_renew, lock->mode);
	wire_add(request, lock->owner, lock->request, kind_word(lock), lock->lease, lock->token,
		 lock->by, lock->period);
	wire_add_strays(request);
	wire_add(request, lock->mode);
	if (*lock->want == '#')
		wire_add(request, lock->starts ? "1" : "", lock->want);
	else if (lock->starts)
		wire_add(request, "1");
	demand_replicas(lock, request, "renewed");
}

void wire_renew_as(const struct lock *lock, struct request *request, const char *owner)
{
	wire_begin(&lock->keys, request, &script_renew);
	wire_add(request, owner, lock->request, "", lock->lease_ms ? lock->lease : "", "", "", "");
	wire_add_strays(request);
}

static void put_release(const struct lock *lock, struct request *request, const char *owner,
			const char *mode, const char *token, const char *min_hold, const char *only)
{
	begin(&lock->keys, request, &script_release, lock->mode);
	wire_add(request, owner, lock->request, mode, token);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, min_hold);
	wire_add_strays(request);
	wire_add(request, lock->status, lock->cause, only);
}

void wire_release(const struct lock *lock, struct request *request)
{
	put_release(lock, request, lock->owner, lock->unused ? "unused" : "own", "", lock->min_hold,
		    "");
	request->tells = *lock->ticket != '\0'; /* where we have waited, others may wait */
}

void wire_release_as(const struct lock *lock, struct request *request, const char *owner)
{
	put_release(lock, request, owner, "any", "", "", "");
}

void wire_force(const struct lock *lock, struct request *request, const char *token,
		const char *only)
{
	put_release(lock, request, "", "force", token, "", only);
	wire_add(request, lock->by);
}

void wire_stop(const struct lock *lock, struct request *request, const char *only, const char *list)
{
	put_release(lock, request, "", "stop", "", "", only);
	wire_add(request, lock->by, list);
}

void wire_forget(const struct lock *lock, struct request *request)
{
	put_release(lock, request, "", "forget", "", "", "");
}

static void put_leave(struct request *request, const char *id, const char *own_id, const char *mode)
{
	wire_add(request, id, own_id);
	wire_add_strays(request);
	wire_add(request, mode);
}

void wire_leave(const struct lock *lock, struct request *request)
{
	begin(&lock->keys, request, &script_leave, lock->want);
	put_leave(request, lock->id, lock->request, "own");
	add_inherited(lock, request);
}

void wire_remove(const struct lock_keys *keys, struct request *request, const char *id,
		 const char *own_id, const char *by)
{
	wire_begin(keys, request, &script_leave);
	put_leave(request, id, own_id, "remove");
	wire_add(request, by);
}
