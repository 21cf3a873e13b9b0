/* Shows values as a configuration file would have them. */
#include "doctor/setting_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/signal_names.h"
#include "cli/settings.h"

static void show_value(char *text, size_t size, const struct options *options,
		       const struct option_row *row)
{
	const void *member = (const char *)options + row->offset;
	char duration[DURATION_MAX_BYTES], name[SIGNAL_MAX_BYTES];

	switch (row->kind) {
	case OPTION_FLAG:
		snprintf(text, size, "%s", *(const bool *)member ? "yes" : "no");
		break;
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_URL:
	case OPTION_REASON:
	case OPTION_COLUMNS:
	case OPTION_COLUMN:
	case OPTION_OWNER:
	case OPTION_WAITER:
	case OPTION_SLOTS:
	case OPTION_SLOT:
	case OPTION_ALSO: /* doctor has none */
		snprintf(text, size, "%s", *(const char *const *)member);
		break;
	case OPTION_DURATION:
	case OPTION_PERIOD:
		snprintf(text, size, "%s",
			 duration_show_fraction(duration, *(const int64_t *)member));
		break;
	case OPTION_NUMBER:
		snprintf(text, size, "%" PRId64, *(const int64_t *)member);
		break;
	case OPTION_INT:
		snprintf(text, size, "%d", *(const int *)member);
		break;
	case OPTION_SIGNAL:
		snprintf(text, size, "%s", signal_show(name, *(const int *)member));
		break;
	case OPTION_COLOUR:
		snprintf(text, size, "%s", colour_words[*(const enum colour_choice *)member]);
		break;
	}
}

static void show_origin(struct shown_setting *shown, const struct options *options,
			const struct option_row *row)
{
	static const char *const names[] = {[0] = "default",
					    [SOURCE_FLAG] = "flag",
					    [SOURCE_ENVIRONMENT] = "environment",
					    [SOURCE_FILE] = "file"};

	shown->source = names[options_origin(options, row)->source];
	settings_where(options, row, shown->where, sizeof(shown->where));
}

/* Several sources may have a password; options->password_source is the one that counts. */
static void show_password(struct shown_setting *shown, const struct options *options)
{
	const struct option_row *url = option_named("url"), *text = option_named("password"),
				*file = option_named("password-file");

	shown->is_secret = options->password_source != PASSWORD_NONE;
	switch (options->password_source) {
	case PASSWORD_NONE:
		shown->source = "default";
		break;
	case PASSWORD_URL:
		show_origin(shown, options, url);
		shown->source = "url";
		break;
	case PASSWORD_TEXT:
		show_origin(shown, options, text);
		break;
	case PASSWORD_FILE:
		show_origin(shown, options, file);
		break;
	case PASSWORD_SHARED:
		shown->source = "environment";
		snprintf(shown->where, sizeof(shown->where), "REDISCLI_AUTH");
		break;
	}
}

static bool is_setting(const struct option_row *row)
{
	return (row->sources & (SOURCE_ENVIRONMENT | SOURCE_FILE)) != 0;
}

bool setting_source_show(struct shown_setting *shown, size_t index, const struct options *options,
			 const struct server *server)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (is_setting(row) && index-- == 0)
			break;
	if (!row)
		return false;
	*shown = (struct shown_setting){.name = row->name};
	if (strcmp(row->name, "password") == 0) {
		show_password(shown, options);
		return true;
	}
	show_origin(shown, options, row);
	if (row->kind == OPTION_URL)
		snprintf(shown->value, sizeof(shown->value), "%s", server->label);
	else if (options_has(options, row))
		show_value(shown->value, sizeof(shown->value), options, row);
	else if (*row->fallback)
		snprintf(shown->value, sizeof(shown->value), "%s", row->fallback);
	return true;
}
