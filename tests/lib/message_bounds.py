"""How long the parts of messages become at most, and where their words are; for messages.py.

A message with an argument that is neither here nor a text of the sources is without a bound: a row is to be added.
"""

FILL = "~"  # stands for a character that only a run knows

# How long a value becomes at most, by EXPRESSION, FUNCTION:EXPRESSION or CALLED(); a text is computed.
BOUNDS = {
    # words of others, cut before
    "keys.shown": 40,
    "keys->shown": 40,
    "job->shown": 40,
    "server_shown()": 60,  # the object of fail_about
    # what we count ourselves
    "duration_show()": 7,  # "9999w6d": it shows times that have passed, or leases
    "duration_show_fraction()": 7,  # "59.999s", or as duration_show()
    "duration_guess()": "DURATION_GUESS_BYTES - 1",
    "signal_show()": 9,  # "VTALRM", or a number
    "lock->token": "TOKEN_MAX_BYTES - 1",
    "lock->owner": "OWNER_MAX_BYTES - 1",
    "view->place": 10,  # the server has memory for no more
    "view->waiters": 10,
    "command->name": 7,  # "acquire", "release"
    "row->argument": 9,  # "kill|warn"
    "row->expects": 39,  # its array
    "options_refuse:expects": 39,  # the same, or that of other_bounds
    "timestamp_until_minute()": 15,  # "Nov 21 18:03:25"
    "here->port": 5,
    "nearest.best": 22,  # the longest option, --sentinel-password-file
    "nearest->best": 22,
    "excluded[k]": 11,
    "exclusions[i].name": 11,
    "server_parse:hint": "HINT_CHARACTERS",
    "server->password_from": 20,  # "a configuration file"
    "arguments.mistake": 17,  # "it takes no value"
    "try_letter:other": 2,
    "check_prefix:prefixes[i]": 23,  # "redisson_lock__channel:"
    "read_line:key": 22,
    "arguments->row->argument": 9,
    "tell_command:command": 23,
    "tell_denied:command": 31,
    "reply->waiters": 10,
    "reply->replicas": 5,
    "lock->replicas": 19,
    "reply_number(reply, 1)": 4,  # protocol versions count up from 1
    "reply_number(reply, 2)": 4,
    "at - name + 1": 3,  # NAME_MAX_BYTES
    "name_options:fitting": 60,  # "--sentinel-user and --sentinel-password-file"
    "name_commands:who": 60,  # all eight
    "tell_denied:name": 17,  # NAME_SHORT_BYTES
    "tell_denied:tail": 19,
    "strerror()": 49,  # "Invalid or incomplete multibyte or wide character"
    "wait_result_stopped:name": 9,
    "superseded:newer": "NEWER_CHARACTERS",
    "read_time:time.fault": 28,  # NO_TIME
    'busy:""': 1,  # holder_say goes on there, up to MESSAGE_CHARACTERS
}
# Words of OpenSSL, hiredis, libc and of several nodes: as the end of a cause, fail_about may cut them.
CUT = "^"
OTHERS = {
    "ERR_reason_error_string()": 60,
    "X509_verify_cert_error_string()": 64,
    "gai_strerror()": 40,
    "broken:connection->redis->errstr": 128,
    "cluster_nodes_check:list": 512,
}
# Expressions that are a column of tables: the file, the tables, which column.
LISTS = {
    "synonyms[i].meant": ("src/cli/synonyms.c", ("command_synonyms", "option_synonyms"), 2),
    "row->name": ("src/cli/option_rows.c", ("option_rows",), 1),
    "kind->cause": ("src/redis/server_error.c", ("kinds",), 4),
    "layout->columns[i].name": ("src/output/column_words.c", ("meanings",), 0),
}
# Functions that are called through a pointer: all of that file whose names begin so.
POINTERS = {"tell": "tell_"}
# Texts that are messages already, and were checked where they were made.
WHOLE = {"err->text", "err.text", "error->text"}


def meant(kind, word):
    """What mean() of src/cli/suggest.c says of a word; FILL: what is nearest, or nothing."""
    if word.startswith(" "):
        return word[1:]
    return f"there is no such {kind}" + (f", did you mean {word}?" if word else "")


# Functions that choose by their arguments: from where their words are, and the same in Python.
CHOOSE = {"mean": (1, meant)}
# FUNCTION:EXPRESSION is a text of those that a function or a file makes.
MADE_BY = {
    "await_tls:why.text": "handshake_failed",
    "end_blindly:err->text": "src/base/deadline_poll.c",
    "check_url:words + strlen(\"': \")": "src/redis/server_url.c",
}

# Functions that only read the text that they get.
NO_WRITERS = {"snprintf", "strlen", "strstr", "sizeof", "strcpy", "strcat", "shorten_end", "holder_say"}
