#include "lock/wire.h"

#include <stdio.h>

#include "redis/script.h"

void wire_add(struct request *request, const char *argument)
{
	request->argv[request->argc++] = argument;
}

void wire_add_strays(struct request *request)
{
	request->strays = request->argc;
	wire_add(request, "0");
}

void wire_begin(const struct lock_keys *keys, struct request *request, const struct script *script)
{
	*request = (struct request){.script = script};
	wire_add(request, keys->name);
	wire_add(request, keys->queue);
	wire_add(request, keys->timeouts);
	wire_add(request, keys->state);
	wire_add(request, keys->log);
	wire_add(request, keys->channel);
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
	return lock->kind == LOCK_WRAP ? "w" : "a";
}

void wire_ask(struct lock *lock, struct request *request, bool try)
{
	wire_begin(&lock->keys, request, &script_acquire);
	wire_add(request, lock->id);
	wire_add(request, lock->request);
	wire_add(request, kind_word(lock));
	wire_add(request, lock->lease);
	wire_add(request, try ? "try" : "wait");
	wire_add(request, lock->ticket);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, lock->limit);
	wire_add(request, lock->by);
	wire_add(request, lock->once_per);
	wire_add_strays(request);
	if (lock->handable)
		owner_draw_secret(lock->secret);
	wire_add(request, lock->secret);
	for (int i = 0; i < lock->inherited_count; i++)
		wire_add(request, lock->inherited[i]);
	demand_replicas(lock, request, "granted");
}

/* token: of the hold; "": whichever of the owner's. */
static void put_renewal(const struct lock *lock, struct request *request, const char *owner,
			const char *kind, const char *lease, const char *token, const char *by,
			const char *once_per)
{
	wire_begin(&lock->keys, request, &script_renew);
	wire_add(request, owner);
	wire_add(request, lock->request);
	wire_add(request, kind);
	wire_add(request, lease);
	wire_add(request, token);
	wire_add(request, by);
	wire_add(request, once_per);
	wire_add_strays(request);
}

void wire_renew(struct lock *lock, struct request *request)
{
	put_renewal(lock, request, lock->owner, kind_word(lock), lock->lease, lock->token, lock->by,
		    lock->once_per);
	demand_replicas(lock, request, "renewed");
}

void wire_renew_as(const struct lock *lock, struct request *request, const char *owner)
{
	put_renewal(lock, request, owner, "", lock->lease_ms ? lock->lease : "", "", "", "");
}

static void put_release(const struct lock *lock, struct request *request, const char *owner,
			const char *how, const char *token, const char *min_hold)
{
	wire_begin(&lock->keys, request, &script_release);
	wire_add(request, owner);
	wire_add(request, lock->request);
	wire_add(request, how);
	wire_add(request, token);
	request->again = request->argc;
	wire_add(request, "0");
	wire_add(request, min_hold);
	wire_add_strays(request);
}

void wire_release(struct lock *lock, struct request *request)
{
	put_release(lock, request, lock->owner, lock->unused ? "unused" : "own", "",
		    lock->min_hold);
	request->tells = *lock->ticket != '\0'; /* where we have waited, others may wait */
}

void wire_release_as(const struct lock *lock, struct request *request, const char *owner,
		     bool force, const char *token)
{
	put_release(lock, request, owner, force ? "force" : "any", token, "");
}

static void put_leave(const struct lock_keys *keys, struct request *request, const char *id,
		      const char *own_id, const char *how)
{
	wire_begin(keys, request, &script_leave);
	wire_add(request, id);
	wire_add(request, own_id);
	wire_add_strays(request);
	wire_add(request, how);
}

void wire_leave(struct lock *lock, struct request *request)
{
	put_leave(&lock->keys, request, lock->id, lock->request, "own");
}

void wire_remove(const struct lock_keys *keys, struct request *request, const char *id,
		 const char *own_id)
{
	put_leave(keys, request, id, own_id, "remove");
}
