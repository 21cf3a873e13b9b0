/* What no lock can be faster than. Prints nanoseconds, a line for each time; but for relay, whose
 * STAMPs say it all.
 *
 * floor COUNT spawn PROGRAM        fork, exec and wait
 * floor COUNT release STAMP FILE   a byte on a pipe, for which a child waits, until STAMP runs
 * floor COUNT ping SOCKET          a round trip over an open connection
 * floor COUNT publish SOCKET       from PUBLISH in one process to the message in another
 * floor COUNT relay SOCKET STAMP FILE MICROSECONDS [ID ASK ANSWERS RELEASE]
 *                                  the least that a hand-over over a server can take: nobody holds
 *                                  anything. COUNT processes wait for a message. Who is told that
 * it is first makes a child that waits to become STAMP, and when it is granted its turn it lets
 * that go, waits for its end, and sends the messages for the next two. Or it takes and releases a
 * lock: the files ASK and RELEASE have the requests of one ID, the server gives ANSWERS to ASK
 * floor COUNT guarded ...          the same with as many processes as wrap has: who is told that it
 *                                  is first makes one that does all of this, and waits for its end
 */

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

/* Whoever is to be woken sleeps by then. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void message(int64_t ns)
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
		message(now_ns() - start);
	}
}

/* When the stamp that was made last started. */
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

/* Its child does not outlive us. */
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

/* A child that becomes the stamp when *start gets a byte. */
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
		message(last_start_ns(file) - start);
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
		message(now_ns() - start);
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
		message(now_ns() - strtoll(reply->element[2]->str, NULL, 10));
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

/* What its members do: a lock's requests, or what does without a lock. */
struct say {
	bool guarded;   /* each has two processes */
	const char *id; /* of whom the requests were heard; NULL: no lock */
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

/* Goes on in another process. */
static void have_a_guard(void)
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
				have_a_guard();
			child = make_ready(stamp, start);
		}
		freeReplyObject(push);
	}
	return child;
}

/* As of another process: all ids are of one length. */
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

static void ask(redisContext *server, const struct say *say, int number)
{
	struct text text;

	redisSetPushCallback(server, NULL); /* they are read like answers */
	if (say->id) {
		read_requests(&text, say->ask, say->id, number);
		redisAppendFormattedCommand(server, text.bytes, text.length);
	} else {
		/* in protocol 3 a subscriber may send, too */
		redisAppendCommand(server, "HELLO 3");
		redisAppendCommand(server, "SUBSCRIBE relay:%d", number);
	}
	read_answers(server, say->answers);
}

/* What is to be sent when it is the next one's turn. */
static void prepare(struct text *text, const struct say *say, int number)
{
	if (say->id) {
		read_requests(text, say->release, say->id, number);
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

static _Noreturn void take_part(int number, const char *path, const struct say *say, char **stamp,
				int ready)
{
	redisContext *server = server_at(path);
	struct text release;
	int start;
	pid_t child;

	ask(server, say, number);
	prepare(&release, say, number);
	if (write(ready, "", 1) != 1)
		die("cannot say that we are ready");
	child = await_grant(server, say->guarded, stamp, &start);
	let_go(child, start);
	pass_on(server, &release);
	_exit(0);
}

/* words: STAMP FILE MICROSECONDS */
static void relay(int count, const char *path, const struct say *say, char **words)
{
	redisContext *server = server_at(path);
	struct text release;
	int ready[2], status;
	char number[16], byte;
	char *stamp[] = {words[0], words[1], number, words[2], NULL};

	ask(server, say, 0);
	prepare(&release, say, 0);
	make_pipe(ready);
	for (int i = 1; i <= count; i++) {
		snprintf(number, sizeof(number), "%d", i);
		if (fork_tied() == 0)
			take_part(i, path, say, stamp, ready[1]);
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
		relay(count, argv[3], &(struct say){guarded, .answers = 2}, argv + 4);
	else if ((guarded || strcmp(argv[2], "relay") == 0) && argc == 11)
		relay(count, argv[3],
		      &(struct say){guarded, argv[7], argv[8], atoi(argv[9]), argv[10]}, argv + 4);
	else
		return 64;
	return 0;
}
