/* A key is one byte or an escape sequence, which may come in pieces. */
#include "output/scroll.h"

#include <string.h>

enum move { QUIT, LINE_DOWN, LINE_UP, HALF_DOWN, HALF_UP, PAGE_DOWN, PAGE_UP, TOP, END };

#define CTRL(letter)                                                                               \
	{                                                                                          \
		(letter) & 0x1f                                                                    \
	}

static const struct key {
	char text[5];
	enum move move;
} keys[] = {
	{"q", QUIT},
	{"Q", QUIT},
	{"j", LINE_DOWN},
	{"e", LINE_DOWN},
	{"\n", LINE_DOWN},
	{"\r", LINE_DOWN},
	{"\033[B", LINE_DOWN},
	{"\033OB", LINE_DOWN},
	{CTRL('N'), LINE_DOWN},
	{CTRL('E'), LINE_DOWN},
	{"k", LINE_UP},
	{"y", LINE_UP},
	{"\033[A", LINE_UP},
	{"\033OA", LINE_UP},
	{CTRL('P'), LINE_UP},
	{CTRL('Y'), LINE_UP},
	{CTRL('K'), LINE_UP},
	{"d", HALF_DOWN},
	{CTRL('D'), HALF_DOWN},
	{"u", HALF_UP},
	{CTRL('U'), HALF_UP},
	{" ", PAGE_DOWN},
	{"f", PAGE_DOWN},
	{CTRL('F'), PAGE_DOWN},
	{"\033[6~", PAGE_DOWN},
	{"b", PAGE_UP},
	{CTRL('B'), PAGE_UP},
	{"\033[5~", PAGE_UP},
	{"g", TOP},
	{"<", TOP},
	{"\033[H", TOP},
	{"\033OH", TOP},
	{"\033[1~", TOP},
	{"G", END},
	{">", END},
	{"\033[F", END},
	{"\033OF", END},
	{"\033[4~", END},
};

static size_t last_first(const struct scroll *scroll)
{
	return scroll->lines > scroll->room ? scroll->lines - scroll->room : 0;
}

static void down(struct scroll *scroll, size_t lines)
{
	const size_t last = last_first(scroll);

	scroll->first = lines < last && scroll->first < last - lines ? scroll->first + lines : last;
}

static void up(struct scroll *scroll, size_t lines)
{
	scroll->first = scroll->first > lines ? scroll->first - lines : 0;
}

void scroll_fit(struct scroll *scroll, size_t lines, size_t room)
{
	scroll->lines = lines;
	scroll->room = room > 0 ? room : 1;
	if (scroll->first > last_first(scroll))
		scroll->first = last_first(scroll);
}

static void move(struct scroll *scroll, enum move move)
{
	const size_t page = scroll->room, half = (scroll->room + 1) / 2;

	switch (move) {
	case QUIT:
		break;
	case LINE_DOWN:
		down(scroll, 1);
		break;
	case LINE_UP:
		up(scroll, 1);
		break;
	case HALF_DOWN:
		down(scroll, half);
		break;
	case HALF_UP:
		up(scroll, half);
		break;
	case PAGE_DOWN:
		down(scroll, page);
		break;
	case PAGE_UP:
		up(scroll, page);
		break;
	case TOP:
		scroll->first = 0;
		break;
	case END:
		scroll->first = last_first(scroll);
		break;
	}
}

/* Whether these bytes may be the beginning of an escape sequence, known or not. */
static bool is_incomplete(const char *text, size_t length)
{
	if (text[0] != '\033')
		return false;
	if (length == 1 || (length == 2 && (text[1] == '[' || text[1] == 'O')))
		return true;
	return text[1] == '[' && (text[length - 1] < '@' || text[length - 1] > '~');
}

/* Returns whether the key is q. */
static bool take_key(struct scroll *scroll)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].text) == scroll->length &&
		    memcmp(keys[i].text, scroll->keys, scroll->length) == 0) {
			move(scroll, keys[i].move);
			return keys[i].move == QUIT;
		}
	return false;
}

bool scroll_take(struct scroll *scroll, const char *keys_typed, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		/* Escape alone does nothing: the next key counts for itself */
		if (scroll->length == 1 && keys_typed[i] != '[' && keys_typed[i] != 'O')
			scroll->length = 0;
		scroll->keys[scroll->length++] = keys_typed[i];
		if (scroll->length < sizeof(scroll->keys) &&
		    is_incomplete(scroll->keys, scroll->length))
			continue;
		if (take_key(scroll))
			return true;
		scroll->length = 0;
	}
	return false;
}
