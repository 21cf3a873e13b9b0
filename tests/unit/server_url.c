/* URLs that are taken and refused, and the servers that they name. */
#include "redis/server.h"

#include <string.h>

#include "check.h"

static const struct {
	const char *url, *label;
} right[] = {
	{"local:", "local:"},
	{"redis://h", "redis://h"},
	{"redis://h/", "redis://h/"},
	{"valkey://h:65535/1", "valkey://h:65535/1"},
	{"redis://[fe80::1%eth0]:7/2", "redis://[fe80::1%eth0]:7/2"},
	{"redis://a:1,b,[::1]:3/4", "redis://a:1,b,[::1]:3/4"},
	{"redis://:pw@h", "redis://h"},
	{"redis://:@h", "redis://h"},
	{"redis://u:@h", "redis://u:@h"},
	{"redis://u:p%2Cw@g,h", "redis://u:@g,h"},
	{"redis://u%3a%40:pw@h", "redis://u%3a%40:@h"},
	{"redis://u:p@w/@h", "redis://u:@h"},
	{"rediss://u:pw@h/3", "rediss://u:@h/3"},
	{"redis+sentinel://u:pw@a,b:1/m/2", "redis+sentinel://u:@a,b:1/m/2"},
	{"valkeys+sentinel://[::1]/a%20b", "valkeys+sentinel://[::1]/a%20b"},
	{"unix:/run/r.sock", "unix:/run/r.sock"},
	{"unix:///run/a@b:c@d/r.sock", "unix:///run/a@b:c@d/r.sock"},
	{"unix:/r?user=u&db=2", "unix:/r?user=u&db=2"},
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
	struct server server;
	struct error err;

	CHECK(tally, server_parse(&server, url, &err) == 0);
	CHECK(tally, server.label && strcmp(server.label, label) == 0);
	if (!server.label || strcmp(server.label, label) != 0)
		printf("%s became %s\n", url, server.label ? server.label : err.text);
	server_free(&server);
}

static void check_wrong(struct tally *tally, const char *url)
{
	struct server server;
	struct error err = {STATUS_OK, ""};
	int result = server_parse(&server, url, &err);

	CHECK(tally, result == -1 && err.status == STATUS_CONFIG);
	CHECK(tally, server.label == NULL && server.seeds == NULL && server.password == NULL);
	CHECK(tally, strcmp(url, "SECRET") == 0 || !strstr(err.text, "SECRET"));
	if (tally->failed)
		printf("'%s': %s\n", url, err.text);
}

/* The label has all but the password; and that it leads to the same server, tests/fuzz/url.c tests.
 */
static void check_password(struct tally *tally)
{
	struct server server;
	struct error err;

	CHECK(tally, server_parse(&server, "redis://b%6Fb:s%3A%2f@w@a:1,[::1]/9", &err) == 0);
	CHECK(tally, strcmp(server.user, "bob") == 0 && strcmp(server.password, "s:/@w") == 0);
	CHECK(tally, server.seeds[0].port == 1 && server.seeds[1].port == 6379);
	server_free(&server);
	CHECK(tally, server_parse(&server, "redis+sentinel://h/m", &err) == 0);
	CHECK(tally, server.seeds[0].port == 26379);
	server_free(&server);
	CHECK(tally, server_parse(&server, "unix:r", &err) == 0 && server.path[0] == '/');
	server_free(&server);
}

int main(void)
{
	struct tally tally = {0};

	for (size_t i = 0; i < COUNT(right); i++)
		check_right(&tally, right[i].url, right[i].label);
	for (size_t i = 0; i < COUNT(wrong); i++)
		check_wrong(&tally, wrong[i]);
	check_password(&tally);
	return conclude(&tally);
}
