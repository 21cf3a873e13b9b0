/* The least that a hand-over through a server can take. It prints nothing, because its STAMPs write
 * the times.
 *
 * relay COUNT SOCKET STAMP FILE MICROSECONDS ID ASK ANSWERS RELEASE
 *
 * COUNT processes queue for a lock and wait for messages. A process that is told that it is first
 * makes a child, which waits to become STAMP. When it is granted its turn it lets the child go,
 * waits for its end, and gives the lock to the next. It holds nothing besides, renews and guards
 * nothing: the files ASK and RELEASE have the requests of the owner ID, and the server gives
 * ANSWERS answers to ASK. */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "relay: %s\n", why);
	exit(71);
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

static redisContext *server_at(const char *path)
{
	redisContext *server = redisConnectUnix(path);

	if (!server || server->err)
		die("cannot connect");
	return server;
}

/* The requests of each process. */
struct part {
	const char *id; /* the owner in the files */
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

/* Returns the child, as make_ready does. */
static pid_t await_grant(redisContext *server, char **stamp, int *start)
{
	redisReply *push;
	bool granted = false;
	pid_t child = 0;

	while (!granted) {
		if (redisGetReply(server, (void **)&push) != REDIS_OK)
			die("the connection has ended");
		granted = says(push, "granted");
		if (child == 0 && (granted || says(push, "first")))
			child = make_ready(stamp, start);
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
	read_requests(&text, part->ask, part->id, number);
	redisAppendFormattedCommand(server, text.bytes, text.length);
	read_answers(server, part->answers);
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
	read_requests(&release, part->release, part->id, number);
	if (write(ready, "", 1) != 1)
		die("cannot say that we are ready");
	child = await_grant(server, stamp, &start);
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
	read_requests(&release, part->release, part->id, 0);
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
	if (argc != 10 || atoi(argv[1]) <= 0)
		return 64;
	relay(atoi(argv[1]), argv[2], &(struct part){argv[6], argv[7], atoi(argv[8]), argv[9]},
	      argv + 3);
	return 0;
}
