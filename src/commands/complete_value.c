/* Asks the server quickly or not at all, because a person waits at a prompt. */
#include "commands/complete_value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_names.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "lock/owner_call.h"
#include "output/column_words.h"
#include "output/table.h"

void complete_offer(const struct complete_target *target, const char *start, const char *text,
		    const char *meaning)
{
	const char *value = target->word + target->head;
	char candidate[NAME_MAX_BYTES + 1];

	snprintf(candidate, sizeof(candidate), "%s%s", start, text);
	if (strncmp(candidate, value, strlen(value)) == 0)
		printf("%.*s%s%s%s\n", (int)target->head, target->word, candidate,
		       meaning ? "\t" : "", meaning ? meaning : "");
}

void complete_name(struct settings *settings, const struct command *command,
		   const struct complete_target *target)
{
	struct lock_list names;
	struct error err;

	if (settings_merge(settings, command, &err) < 0)
		return;
	lock_list_find_quickly(&names, &settings->server);
	for (size_t i = 0; i < names.count; i++)
		complete_offer(target, "", names.list[i].name, NULL);
	lock_list_free(&names);
}

/* kind: OPTION_OWNER, OPTION_WAITER or OPTION_SLOT. */
static void complete_owner(struct settings *settings, const struct command *command,
			   const struct complete_target *target, const char *name,
			   enum option_kind kind)
{
	struct owner_list owners;
	struct error err;

	if (settings_merge(settings, command, &err) < 0)
		return;
	owner_list_find_quickly(&owners, &settings->server, name, kind == OPTION_WAITER);
	for (size_t i = 0; i < owners.count; i++) {
		const struct found_owner *owner = &owners.list[i];
		const char *offer = kind == OPTION_SLOT ? owner->slot : owner->id;

		tame(owners.list[i].about);
		if (*offer)
			complete_offer(target, "", offer, owner->about);
	}
	owner_list_free(&owners);
}

/* The letters of a column stay as small as they are. */
static void complete_column(const struct layout *layout, const struct complete_target *target)
{
	char name[64];

	for (size_t i = 0; i < layout->column_count; i++) {
		snprintf(name, sizeof(name), "%s", layout->columns[i].name);
		for (char *c = name; islower((unsigned char)target->word[target->head]) && *c; c++)
			*c = (char)tolower((unsigned char)*c);
		complete_offer(target, "", name, column_meaning(layout->columns[i].name));
	}
}

/* A list of columns may begin with a plus, and its last word is the one to complete. */
static void complete_columns(const struct layout *layout, const struct complete_target *target)
{
	struct complete_target last = *target;
	const char *value = target->word + target->head, *comma = strrchr(value, ',');

	if (comma)
		last.head = (size_t)(comma + 1 - target->word);
	else
		last.head += *value == '+';
	complete_column(layout, &last);
	if (last.head == target->head)
		complete_offer(&last, "", "help", "list the columns");
}

static void complete_signal(const struct complete_target *target)
{
	const bool with_sig = strncmp(target->word + target->head, "SIG", 3) == 0;
	const char *name;

	for (size_t i = 0; (name = signal_name_at(i)) != NULL; i++)
		complete_offer(target, with_sig ? "SIG" : "", name, NULL);
}

static void complete_url(const struct complete_target *target)
{
	const char *scheme;

	for (size_t i = 0; (scheme = server_scheme_at(i)) != NULL; i++)
		complete_offer(target, "", scheme, NULL);
}

static void complete_colour(const struct complete_target *target)
{
	for (size_t i = 0; i < COLOUR_COUNT; i++)
		complete_offer(target, "", colour_words[i], NULL);
}

void complete_value(struct settings *settings, const struct command *command,
		    const struct option_row *row, const struct complete_target *target,
		    const char *name)
{
	switch (row->kind) {
	case OPTION_FILE:
		printf("\tfiles %zu\n", target->head);
		break;
	case OPTION_URL:
		complete_url(target);
		break;
	case OPTION_SIGNAL:
		complete_signal(target);
		break;
	case OPTION_COLOUR:
		complete_colour(target);
		break;
	case OPTION_COLUMN:
		if (command->table)
			complete_column(command->table, target);
		break;
	case OPTION_COLUMNS:
		if (command->table)
			complete_columns(command->table, target);
		break;
	case OPTION_ALSO:
		complete_name(settings, command, target);
		break;
	case OPTION_OWNER:
	case OPTION_WAITER:
	case OPTION_SLOT:
		complete_owner(settings, command, target, name, row->kind);
		break;
	default:
		break;
	}
}
