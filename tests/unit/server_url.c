/* URLs that are taken and refused, and the servers that they name. */
#include "redis/server.h"

#include <string.h>

#include "check.h"

static const struct {
	const char *url, *label;
} right[] = {
	{"local:", "local:"},
	{"redis://h", "redis://h:6379"},
	{"redis://h/", "redis://h:6379"},
	{"redis://h:1", "redis://h:1"},
	{"valkey://h:65535/1", "valkey://h:65535/1"},
	{"redis://[::1]", "redis://[::1]:6379"},
	{"redis://[fe80::1%eth0]:7/2", "redis://[fe80::1%eth0]:7/2"},
	{"redis://a:1,b,[::1]:3/4", "redis://a:1,b:6379,[::1]:3/4"},
	{"redis://:pw@h", "redis://h:6379"},
	{"redis://:@h", "redis://h:6379"},
	{"redis://u:@h", "redis://u:@h:6379"},
	{"redis://u:pw@h", "redis://u:@h:6379"},
	{"redis://u:p%2Cw@g,h", "redis://u:@g:6379,h:6379"},
	{"redis://u%3a%40:pw@h", "redis://u%3A%40:@h:6379"},
	{"redis://u:p@w/@h", "redis://u:@h:6379"},
	{"rediss://u:pw@h/3", "rediss://u:@h:6379/3"},
	{"redis+sentinel://h/m", "redis+sentinel://h:26379/m"},
	{"redis+sentinel://u:pw@a,b:1/m/2", "redis+sentinel://u:@a:26379,b:1/m/2"},
	{"valkeys+sentinel://[::1]/a%20b", "valkeys+sentinel://[::1]:26379/a%20b"},
	{"unix:/run/r.sock", "unix:/run/r.sock"},
	{"unix:///run/a@b:c@d/r.sock", "unix:///run/a@b:c@d/r.sock"},
	{"unix:/r?user=u&db=2", "unix:/r?db=2&user=u"},
};

/* The password in them is SECRET: no message may have it. */
static const char *const wrong[] = {
	"",
	"local",
	"SECRET",
	"http://u:SECRET@h",
	"foo:SECRET",
	"unix:~/r",
	"redis:/h",
	"redis://",
	"redis://:SECRET",
	"redis://SECRET@h",
	"redis://:SECRET@g,:SECRET@h",
	"redis://g:1,u:SECRET@h",
	"redis://:SECRET@",
	"redis://:SECRET@h:",
	"redis://:SECRET@h:0",
	"redis://:SECRET@h:65536",
	"redis://:SECRET@h/x",
	"redis://:SECRET@h/2147483648",
	"redis://:SECRET@h/1/2",
	"redis://:SECRET@h?db=1",
	"redis://:SECRET@h,",
	"redis://:SECRET@h h",
	"redis://:SECRET@[::1",
	"redis://:SECRET@::1",
	"redis://:SECRET@[::1]x",
	"redis://:SECRET@[h%2fx]",
	"redis://:SECRET%@h",
	"redis://:SECRET%zz@h",
	"redis://:SECRET%00@h",
	"redis://%2:SECRET@h",
	"unix:",
	"unix:?db=1",
	"unix:/r?",
	"unix:/r?db=x",
	"unix:/r?password=SECRET",
	"unix://:SECRET@/r",
	"unix:redis://u:SECRET@h",
	"unix:/r?db=1&",
	"unix:/r\n?db=0",
	"redis+sentinel://u:SECRET@h",
	"redis+sentinel://u:SECRET@h//1",
	"redis+sentinel://u:SECRET@h/m/x",
	"sentinel://u:SECRET@h/m",
	/* 108 bytes, one too many for a socket */
	("unix:/01234567890123456789012345678901234567890123456789"
	 "/01234567890123456789012345678901234567890123456789/01234"),
};

static void check_right(struct tally *tally, const char *url, const char *label)
{
	struct server server, again;
	struct error err;
	int result = server_parse(&server, url, &err);

	CHECK(tally, result == 0);
	if (result) {
		printf("%s: %s\n", url, err.text);
		return;
	}
	if (strcmp(server.label, label) != 0)
		printf("%s became %s\n", url, server.label);
	CHECK(tally, strcmp(server.label, label) == 0);
	CHECK(tally, server_parse(&again, server.label, &err) == 0);
	CHECK(tally, strcmp(again.label, label) == 0 && again.kind == server.kind);
	server_free(&server);
	server_free(&again);
}

static void check_wrong(struct tally *tally, const char *url)
{
	struct server server;
	struct error err = {STATUS_OK, ""};
	int result = server_parse(&server, url, &err);

	if (result == 0)
		printf("'%s' passed\n", url);
	CHECK(tally, result == -1 && err.status == STATUS_CONFIG);
	CHECK(tally, server.label == NULL && server.seeds == NULL && server.password == NULL);
	if (strcmp(url, "SECRET") != 0 && strstr(err.text, "SECRET")) {
		printf("told: %s\n", err.text);
		CHECK(tally, false);
	}
}

static void check_parts(struct tally *tally)
{
	struct server server;
	struct error err;

	CHECK(tally, server_parse(&server, "redis://b%6Fb:s%3A%2f@w@a:1,[::1]/9", &err) == 0);
	CHECK(tally, server.kind == SERVER_TCP && server.db == 9 && server.seed_count == 2);
	CHECK(tally, strcmp(server.user, "bob") == 0 && strcmp(server.password, "s:/@w") == 0);
	CHECK(tally, strcmp(server.seeds[0].host, "a") == 0 && server.seeds[0].port == 1);
	CHECK(tally, strcmp(server.seeds[1].host, "::1") == 0 && server.seeds[1].port == 6379);
	server_free(&server);
	CHECK(tally, server_parse(&server, "rediss+sentinel://:p@h/my%2Fm/4", &err) == 0);
	CHECK(tally, server.kind == SERVER_SENTINEL && server.tls && server.db == 4);
	CHECK(tally, strcmp(server.master, "my/m") == 0 && server.seeds[0].port == 26379);
	server_free(&server);
	CHECK(tally, server_parse(&server, "unix:/run/r?user=u&db=2", &err) == 0);
	CHECK(tally, server.kind == SERVER_UNIX && strcmp(server.path, "/run/r") == 0);
	CHECK(tally, server.db == 2 && strcmp(server.user, "u") == 0 && server.password == NULL);
	server_free(&server);
	CHECK(tally, server_parse(&server, "unix:r", &err) == 0);
	CHECK(tally, server.path[0] == '/');
	server_free(&server);
}

static void check_hiding(struct tally *tally)
{
	static const char with_user[] = "redis://u:SECRET@h", alone[] = "foo://SECRET@h";
	size_t length;

	CHECK(tally, password_find(with_user, &length) == strstr(with_user, "SECRET"));
	CHECK(tally, length == strlen("SECRET"));
	CHECK(tally, password_find(alone, &length) == strstr(alone, "SECRET"));
	CHECK(tally, length == strlen("SECRET"));
	CHECK(tally, !password_find("unix:/a@b", &length));
}

int main(void)
{
	struct tally tally = {0};

	for (size_t i = 0; i < COUNT(right); i++)
		check_right(&tally, right[i].url, right[i].label);
	for (size_t i = 0; i < COUNT(wrong); i++)
		check_wrong(&tally, wrong[i]);
	check_parts(&tally);
	check_hiding(&tally);
	return conclude(&tally);
}
