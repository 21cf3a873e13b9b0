/* Stands in for the server, time, files, terminals and processes of a fuzzed command. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/options.h"
#include "fuzz.h"
#include "lock/hold.h"
#include "lock/owner.h"
#include "peers.h"
#include "redis/server.h"
#include "supervise/job.h"
#include "valid.h"

/* The linker puts world_* in the places of functions of src/ and libc; real_* are those. */
int real_poll(struct pollfd *slots, nfds_t count, int timeout_ms) __asm__("__real_poll");
int world_poll(struct pollfd *slots, nfds_t count, int timeout_ms) __asm__("__wrap_poll");
int64_t real_clock_ms(void) __asm__("__real_clock_ms");
int64_t world_clock_ms(void) __asm__("__wrap_clock_ms");
int world_deadline_poll_open(struct deadline_poll *loop,
			     struct error *err) __asm__("__wrap_deadline_poll_open");
int world_deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count,
			int64_t until_ms, struct error *err) __asm__("__wrap_deadline_poll");
int world_socket(int family, int type, int protocol) __asm__("__wrap_socket");
int world_connect(int fd, const struct sockaddr *name, socklen_t length) __asm__("__wrap_connect");
int real_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		void *argument) __asm__("__real_pthread_create");
int world_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		 void *argument) __asm__("__wrap_pthread_create");
int world_owner_new(char id[OWNER_MAX_BYTES], bool is_marked,
		    struct error *err) __asm__("__wrap_owner_new");
void world_owner_draw_secret(char secret[SECRET_BYTES]) __asm__("__wrap_owner_draw_secret");
int world_signal_fd_open(struct signal_fd *signals,
			 struct error *err) __asm__("__wrap_signal_fd_open");
int real_open(const char *path, int flags, ...) __asm__("__real_open");
int world_open(const char *path, int flags, ...) __asm__("__wrap_open");
pid_t real_tcgetpgrp(int fd) __asm__("__real_tcgetpgrp");
pid_t world_tcgetpgrp(int fd) __asm__("__wrap_tcgetpgrp");
ssize_t real_write(int fd, const void *bytes, size_t length) __asm__("__real_write");
ssize_t world_write(int fd, const void *bytes, size_t length) __asm__("__wrap_write");
bool world_standby_update(struct standby *standby, const struct job *job, bool is_wanted,
			  bool is_time) __asm__("__wrap_standby_update");
int world_wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		      struct error *err) __asm__("__wrap_wrapper_run");
int real_isatty(int fd) __asm__("__real_isatty");
int world_isatty(int fd) __asm__("__wrap_isatty");

#define BEGIN_MS INT64_C(1000000000)
#define WORDS 32

/* A client that looks so often without waiting spins; one that waits so often never ends. */
#define LOOKS_MAX 1000
#define WAITS_MAX 20000
/* COMMAND ends after so many steps of its hold. */
#define HOLD_STEPS 30

static struct world {
	bool is_on;
	bool has_terminal;
	bool is_watched; /* --watch was given */
	bool has_started;
	int64_t now_ms;
	unsigned looks, waits;
	int terminal;
	const struct world_file *files;
	size_t file_count;
} world;

/* ---- Time ---- */

/* A client that waits for ever hears the server's next words, or the connection's end. */
static int wait_until(struct pollfd *slots, nfds_t count, int64_t until_ms)
{
	const int ready = real_poll(slots, count, 0);
	struct peer *peer;

	peers_hear();
	if (ready != 0 || until_ms <= world.now_ms) {
		HOLDS(++world.looks < LOOKS_MAX); /* else it spins */
		return ready;
	}
	world.looks = 0;
	HOLDS(++world.waits < WAITS_MAX);
	peer = peers_awaited(slots, count);
	HOLDS(peer || until_ms != NEVER_MS); /* else it waits for nothing */
	if (peer && peers_act(peer, until_ms == NEVER_MS))
		world.now_ms++;
	else
		world.now_ms = until_ms;
	return real_poll(slots, count, 0);
}

int world_poll(struct pollfd *slots, nfds_t count, int timeout_ms)
{
	if (!world.is_on)
		return real_poll(slots, count, timeout_ms);
	if (world.is_watched && count == 0) /* a screen that was drawn once is enough */
		return 1;
	/* our own output always has room */
	if (count == 1 && slots->fd >= 0 && slots->fd <= 2) {
		slots->revents = slots->events & POLLOUT;
		return slots->revents != 0;
	}
	return wait_until(slots, count, timeout_ms < 0 ? NEVER_MS : world.now_ms + timeout_ms);
}

int64_t world_clock_ms(void)
{
	return world.is_on ? world.now_ms : real_clock_ms();
}

int world_deadline_poll_open(struct deadline_poll *loop, struct error *err)
{
	(void)err;
	*loop = (struct deadline_poll){.timer = -1};
	return 0;
}

int world_deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count,
			int64_t until_ms, struct error *err)
{
	(void)loop;
	(void)err;
	slots[count - 1] = (struct pollfd){.fd = -1};
	wait_until(slots, count, until_ms);
	return 0;
}

/* ---- Connections, owner ids, signals ---- */

int world_socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	return peers_accept();
}

/* peers_accept has connected it. */
int world_connect(int fd, const struct sockaddr *name, socklen_t length)
{
	(void)fd;
	(void)name;
	(void)length;
	return 0;
}

/* No name is looked up. */
int world_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		 void *argument)
{
	return world.is_on ? ENETUNREACH : real_thread(thread, attributes, start, argument);
}

int world_owner_new(char id[OWNER_MAX_BYTES], bool is_marked, struct error *err)
{
	(void)is_marked, (void)err;
	strcpy(id, WORLD_ID);
	return 0;
}

void world_owner_draw_secret(char secret[SECRET_BYTES])
{
	strcpy(secret, WORLD_SECRET);
}

int world_signal_fd_open(struct signal_fd *signals, struct error *err)
{
	(void)err;
	*signals = (struct signal_fd){.fd = -1};
	return 0;
}

/* ---- Files and terminals ---- */

/* Makes a new file each time, because reading moves its offset. */
static int open_text(const struct world_file *file)
{
	const int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || real_write(fd, file->text, file->length) != (ssize_t)file->length ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

int world_open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list args;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (world.files) {
		for (size_t i = 0; i < world.file_count; i++)
			if (strcmp(path, world.files[i].path) == 0)
				return open_text(&world.files[i]);
		errno = ENOENT;
		return -1;
	}
	if (!world.is_on)
		return real_open(path, flags, mode);
	world.terminal = real_open("/dev/null", O_WRONLY | O_CLOEXEC);
	return world.terminal;
}

void world_files(const struct world_file *files, size_t count)
{
	world.files = files;
	world.file_count = count;
}

pid_t world_tcgetpgrp(int fd)
{
	if (!world.is_on)
		return real_tcgetpgrp(fd);
	return world.has_terminal ? getpgrp() : -1;
}

/* A progress line returns to its beginning and erases what stood there. */
static void check_drawn(const char *text, size_t length)
{
	static const char erase[] = "\r\033[J\r";
	const char *end = text + length;

	HOLDS(length >= 5 && text[0] == '\r' && memcmp(end - 4, erase + 1, 4) == 0);
	HOLDS(valid_text(text + 1, length - 5, ""));
}

ssize_t world_write(int fd, const void *bytes, size_t length)
{
	if (!world.is_on || (fd != STDERR_FILENO && fd != world.terminal))
		return real_write(fd, bytes, length);
	if (fd == STDERR_FILENO)
		HOLDS(valid_messages(bytes, length));
	else
		check_drawn(bytes, length);
	return (ssize_t)length;
}

/* ---- COMMAND and --watch ---- */

/* Makes no processes. */
bool world_standby_update(struct standby *standby, const struct job *job, bool is_wanted,
			  bool is_time)
{
	(void)standby;
	HOLDS(!is_wanted || !is_time || hold_set_is_silent(job->set));
	return false;
}

/* Does as the guard: renews the hold, and gives it back unless it was lost. */
int world_wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		      struct error *err)
{
	const struct hold_set *set = job->set;
	struct pollfd slots[HOLDS_MAX + 1];
	char why[OWNER_SHOWN_BYTES];
	bool lost = false;

	(void)standby;
	(void)err;
	world.has_started = true;
	for (int i = 0; i < set->count; i++) {
		const struct lock *lock = &set->holds[i].lock;

		HOLDS(world.now_ms < lock->deadline_ms && *lock->token);
		HOLDS(lock->token[strspn(lock->token, "0123456789")] == '\0');
		HOLDS(lock->kind == LOCK_WRAP && !lock->starts);
		hold_take(&set->holds[i]);
	}
	for (int i = 0; i < HOLD_STEPS && !lost && world.now_ms < job_times(job).deadline_ms; i++) {
		const int64_t wake =
			earliest(hold_set_wait(set, slots), job_times(job).deadline_ms);

		wait_until(slots, (nfds_t)set->count, wake);
		lost = hold_set_step(set) != NULL;
	}
	if (world.now_ms >= job_times(job).deadline_ms)
		hold_expire(&set->holds[0]);
	message_step(job->messenger, "%s", hold_why(why, MESSAGE_CHARACTERS, &set->holds[0]));
	if (world.now_ms < job_times(job).deadline_ms)
		hold_set_release(set, world.now_ms + 5000);
	hold_set_close(set);
	*ending = (struct ending){.started = true, .lost = lost};
	return 0;
}

/* --watch wants a screen. */
int world_isatty(int fd)
{
	return world.is_watched && fd == STDOUT_FILENO ? 1 : real_isatty(fd);
}

bool world_has_started(void)
{
	return world.has_started;
}

/* ---- Running a command ---- */

void world_begin(const char *script, size_t length, bool has_terminal)
{
	world = (struct world){
		.is_on = true, .has_terminal = has_terminal, .now_ms = BEGIN_MS, .terminal = -1};
	peers_begin(script, length);
}

void world_end(void)
{
	peers_end();
	world.is_on = false;
}

static int run_command(const char *url, int argc, char **argv)
{
	const struct command *command = &front_command;
	struct settings settings;
	struct options options;
	struct server server;
	struct messenger messenger = {.start_ms = clock_ms()};
	struct invocation invocation = {&options, &server, &messenger, argc, argv};
	struct error err = {.status = STATUS_OK};
	int status = STATUS_OK, result;

	settings_init(&settings);
	options = settings.options;
	HOLDS(parse_args(&options, &command, &invocation.argc, argv, &err) == 0);
	HOLDS(options_settle(&options, command, &err) == 0);
	HOLDS(server_parse(&server, url, &err) == 0);
	world.is_watched = options.watch_ms > 0;
	messenger.verbose = options.verbose;
	result = command->run(&invocation, &status, &err);
	if (result < 0) {
		complain("%s", err.text);
		status = (int)err.status;
		HOLDS(status != STATUS_OK);
	}
	server_free(&server);
	free(options.url_copy);
	return status;
}

/* 1 and 2 are what status and doctor found. */
static bool is_in_manual(int status)
{
	static const int listed[] = {0, 1, 2, 64, 69, 70, 75, 76, 77, 78, 124};

	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		if (status == listed[i])
			return true;
	return false;
}

int world_run(const char *url, const char *words)
{
	char *text = strdup(words), *rest = text, *argv[WORDS + 1];
	int argc = 0, status;

	if (!text)
		abort();
	while (rest && argc < WORDS)
		argv[argc++] = fuzz_next(&rest, " ");
	argv[argc] = NULL;
	status = run_command(url, argc, argv);
	free(text);
	HOLDS(is_in_manual(status));
	return status;
}
