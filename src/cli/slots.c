/* A value is a count, or names with commas between them. 03, +3 and 1.5 are neither: they look like
 * counts. */
#include "cli/slots.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

bool slots_are_counted(const char *value)
{
	return value[strspn(value, DIGITS)] == '\0';
}

static const char *name_fault(const char *name, size_t length)
{
	uint32_t code;

	if (length == 0)
		return "has a slot without a name";
	if (length >= SLOT_MAX_BYTES)
		return "has a slot name of more than 64 bytes";
	if (strspn(name, DIGITS) >= length)
		return "has a slot name of digits only";
	for (size_t at = 0; at < length;) {
		const size_t bytes = utf8_decode(name + at, &code);

		if (bytes == 0)
			return "is not valid UTF-8";
		if (code == ' ' || code == 0xa0 || utf8_is_harmful(code))
			return "has a blank or a control character";
		at += bytes;
	}
	return NULL;
}

/* Whether a name stands in the list before, too. */
static bool is_repeated(const char *list, const char *name, size_t length)
{
	for (const char *other = list; other < name; other += strcspn(other, ",") + 1)
		if (strcspn(other, ",") == length && memcmp(other, name, length) == 0)
			return true;
	return false;
}

bool slot_is_valid(const char *value)
{
	return strchr(value, ',') == NULL && slots_fault(value) == NULL;
}

const char *slots_fault(const char *value)
{
	const char *name = value, *fault;
	size_t length;
	int64_t number;

	if (*value && value[strspn(value, DIGITS "+-.")] == '\0')
		return *value == '0' || number_parse(value, strlen(value), &number) < 0 ||
				       number > SLOTS_MOST
			       ? "is no number of slots from 1 to 1000"
			       : NULL;
	for (int count = 1;; count++) {
		length = strcspn(name, ",");
		if (count > SLOTS_MOST)
			return "has more than 1000 slots";
		if (is_repeated(value, name, length))
			return "has a slot name twice";
		fault = name_fault(name, length);
		if (fault || name[length] == '\0')
			return fault;
		name += length + 1;
	}
}
