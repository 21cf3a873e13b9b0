/* Measures what no lock can be faster than. Prints nanoseconds, a line for each time; but relay and
 * guarded print nothing, because their STAMPs write the times.
 *
 * floor COUNT spawn PROGRAM        fork, exec and wait
 * floor COUNT release STAMP FILE   a byte on a pipe, for which a child waits, until STAMP runs
 * floor COUNT ping SOCKET          a round trip over an open connection
 * floor COUNT publish SOCKET       from PUBLISH in one process to the message in another
 * floor COUNT relay SOCKET STAMP FILE MICROSECONDS [ID ASK ANSWERS RELEASE]
 *     The least that a hand-over through a server can take, without a lock. COUNT processes wait
 *     for messages. A process that is told that it is first makes a child, which waits to become
 *     STAMP. When it is granted its turn it lets the child go, waits for its end, and sends the
 *     messages for the next two. With ID, it takes and releases a lock instead: the files ASK and
 *     RELEASE have the requests of the owner ID, and the server gives ANSWERS answers to ASK.
 * floor COUNT guarded ...
 *     The same with as many processes as wrap has: a process that is told that it is first makes
 *     another one, which does all of this, and waits for its end. */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Gives the process that is woken next time to fall asleep. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void print_ns(int64_t ns)
{
	printf("%lld\n", (long long)ns);
}

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "floor: %s\n", why);
	exit(71);
}

static void spawn(int count, char **program)
{
	for (int i = 0; i < count; i++) {
		const int64_t start = now_ns();
		const pid_t pid = fork();

		if (pid == 0) {
			execvp(program[0], program);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			die("cannot fork");
		print_ns(now_ns() - start);
	}
}

/* Returns when the last STAMP started. */
static int64_t last_start_ns(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[80], *word;
	long long start = 0;

	if (!file)
		die("no stamp was made");
	while (fgets(line, sizeof(line), file))
		if ((word = strchr(line, ' ')))
			start = strtoll(word, NULL, 10);
	fclose(file);
	return start;
}

/* Forks a child that does not outlive us. */
static pid_t fork_tied(void)
{
	const pid_t pid = fork();

	if (pid < 0)
		die("cannot fork");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void make_pipe(int ends[2])
{
	if (pipe(ends) < 0)
		die("cannot make a pipe");
}

/* Makes a child that becomes STAMP when *start gets a byte. */
static pid_t make_ready(char **stamp, int *start)
{
	int ends[2];
	char byte;
	pid_t pid;

	make_pipe(ends);
	pid = fork_tied();
	if (pid == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			execv(*stamp, stamp);
		_exit(127);
	}
	close(ends[0]);
	*start = ends[1];
	return pid;
}

static void let_go(pid_t pid, int start)
{
	int status;

	if (write(start, "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		die("cannot run the stamp");
	close(start);
}

static void release(int count, char *stamp, char *file)
{
	char zero[] = "0";
	char *words[] = {stamp, file, zero, zero, NULL};

	for (int i = 0; i < count; i++) {
		int end;
		const pid_t pid = make_ready(words, &end);

		pause_a_little();
		const int64_t start = now_ns();

		let_go(pid, end);
		print_ns(last_start_ns(file) - start);
	}
}

static redisContext *server_at(const char *path)
{
	redisContext *server = redisConnectUnix(path);

	if (!server || server->err)
		die("cannot connect");
	return server;
}

static void ping(int count, const char *path)
{
	redisContext *server = server_at(path);

	for (int i = 0; i < count; i++) {
		pause_a_little();
		const int64_t start = now_ns();

		freeReplyObject(redisCommand(server, "PING"));
		print_ns(now_ns() - start);
	}
	redisFree(server);
}

static void listen_to(const char *path, int count, int ready)
{
	redisContext *server = server_at(path);
	redisReply *reply = redisCommand(server, "SUBSCRIBE floor");

	freeReplyObject(reply);
	(void)!write(ready, "", 1);
	while (count-- > 0 && redisGetReply(server, (void **)&reply) == REDIS_OK) {
		print_ns(now_ns() - strtoll(reply->element[2]->str, NULL, 10));
		freeReplyObject(reply);
	}
	fflush(stdout);
	_exit(0);
}

static void publish(int count, const char *path)
{
	redisContext *server = server_at(path);
	int ends[2];
	char byte;
	pid_t pid;

	make_pipe(ends);
	pid = fork_tied();
	if (pid == 0)
		listen_to(path, count, ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		die("nobody listens");
	while (count-- > 0) {
		pause_a_little();
		freeReplyObject(redisCommand(server, "PUBLISH floor %lld", (long long)now_ns()));
	}
	waitpid(pid, NULL, 0);
	redisFree(server);
}

/* ---- The relay ---- */

/* The work of each process of the relay: the requests of a lock, or messages without a lock. */
struct part {
	bool guarded;   /* each has two processes */
	const char *id; /* the owner in the files of requests; NULL: no lock */
	const char *ask;
	int answers; /* to ask */
	const char *release;
};

struct text {
	char bytes[8192];
	size_t length;
};

static void read_answers(redisContext *server, int count)
{
	redisReply *reply;

	while (count-- > 0) {
		if (redisGetReply(server, (void **)&reply) != REDIS_OK ||
		    reply->type == REDIS_REPLY_ERROR)
			die("the server refused a request");
		freeReplyObject(reply);
	}
}

static bool says(const redisReply *push, const char *word)
{
	return push->elements == 3 && push->element[2]->type == REDIS_REPLY_STRING &&
	       strncmp(push->element[2]->str, word, strlen(word)) == 0;
}

/* Goes on in a child, and ends as the child does. */
static void continue_in_child(void)
{
	const pid_t guard = fork_tied();
	int status;

	if (guard)
		_exit(waitpid(guard, &status, 0) != guard || status);
}

/* Returns the child, as make_ready does. */
static pid_t await_grant(redisContext *server, bool guarded, char **stamp, int *start)
{
	redisReply *push;
	bool granted = false;
	pid_t child = 0;

	while (!granted) {
		if (redisGetReply(server, (void **)&push) != REDIS_OK)
			die("the connection has ended");
		granted = says(push, "granted");
		if (child == 0 && (granted || says(push, "first"))) {
			if (guarded)
				continue_in_child();
			child = make_ready(stamp, start);
		}
		freeReplyObject(push);
	}
	return child;
}

/* Puts another id of the same length into the requests. */
static void read_requests(struct text *text, const char *path, const char *id, int number)
{
	FILE *file = fopen(path, "r");
	char digits[16];

	text->length = file ? fread(text->bytes, 1, sizeof(text->bytes) - 1, file) : 0;
	if (text->length == 0 || text->length == sizeof(text->bytes) - 1)
		die("there are no such requests");
	fclose(file);
	text->bytes[text->length] = '\0';
	snprintf(digits, sizeof(digits), "%08d", number);
	for (char *at = strstr(text->bytes, id); at; at = strstr(at, id))
		memcpy(at, digits, 8);
}

static void ask(redisContext *server, const struct part *part, int number)
{
	struct text text;

	redisSetPushCallback(server, NULL); /* pushes are read like answers */
	if (part->id) {
		read_requests(&text, part->ask, part->id, number);
		redisAppendFormattedCommand(server, text.bytes, text.length);
	} else {
		/* in protocol 3 a subscriber may send, too */
		redisAppendCommand(server, "HELLO 3");
		redisAppendCommand(server, "SUBSCRIBE relay:%d", number);
	}
	read_answers(server, part->answers);
}

/* Prepares what gives the next process its turn. */
static void prepare_release(struct text *text, const struct part *part, int number)
{
	if (part->id) {
		read_requests(text, part->release, part->id, number);
		return;
	}
	text->length = (size_t)snprintf(text->bytes, sizeof(text->bytes),
					"PUBLISH relay:%d first\r\nPUBLISH relay:%d granted\r\n",
					number + 2, number + 1);
}

static void pass_on(redisContext *server, const struct text *text)
{
	int done = 0;

	redisAppendFormattedCommand(server, text->bytes, text->length);
	while (!done)
		if (redisBufferWrite(server, &done) != REDIS_OK)
			die("cannot send");
}

static _Noreturn void take_part(int number, const char *path, const struct part *part, char **stamp,
				int ready)
{
	redisContext *server = server_at(path);
	struct text release;
	int start;
	pid_t child;

	ask(server, part, number);
	prepare_release(&release, part, number);
	if (write(ready, "", 1) != 1)
		die("cannot say that we are ready");
	child = await_grant(server, part->guarded, stamp, &start);
	let_go(child, start);
	pass_on(server, &release);
	_exit(0);
}

/* words: STAMP FILE MICROSECONDS */
static void relay(int count, const char *path, const struct part *part, char **words)
{
	redisContext *server = server_at(path);
	struct text release;
	int ready[2], status;
	char number[16], byte;
	char *stamp[] = {words[0], words[1], number, words[2], NULL};

	ask(server, part, 0);
	prepare_release(&release, part, 0);
	make_pipe(ready);
	for (int i = 1; i <= count; i++) {
		snprintf(number, sizeof(number), "%d", i);
		if (fork_tied() == 0)
			take_part(i, path, part, stamp, ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			die("somebody has failed");
	}
	nanosleep(&(struct timespec){0, 200000000}, NULL);
	pass_on(server, &release);
	while (count-- > 0)
		if (wait(&status) < 0 || status)
			die("somebody has failed");
}

int main(int argc, char **argv)
{
	const int count = argc > 3 ? atoi(argv[1]) : 0;
	bool guarded;

	if (count <= 0)
		return 64;
	guarded = strcmp(argv[2], "guarded") == 0;
	if (strcmp(argv[2], "spawn") == 0)
		spawn(count, argv + 3);
	else if (strcmp(argv[2], "release") == 0 && argc == 5)
		release(count, argv[3], argv[4]);
	else if (strcmp(argv[2], "ping") == 0)
		ping(count, argv[3]);
	else if (strcmp(argv[2], "publish") == 0)
		publish(count, argv[3]);
	else if ((guarded || strcmp(argv[2], "relay") == 0) && argc == 7)
		relay(count, argv[3], &(struct part){guarded, .answers = 2}, argv + 4);
	else if ((guarded || strcmp(argv[2], "relay") == 0) && argc == 11)
		relay(count, argv[3],
		      &(struct part){guarded, argv[7], argv[8], atoi(argv[9]), argv[10]}, argv + 4);
	else
		return 64;
	return 0;
}
