#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

/* What libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, so that libFuzzer keeps the input, unless it holds. */
#define HOLDS(condition) fuzz_holds(condition, __FILE__, __LINE__, #condition)

void fuzz_holds(bool holds, const char *file, int line, const char *what);

/* Shows what it was about, for whoever repeats it. */
void fuzz_show(const char *what, const char *bytes, size_t length);

/* A copy that ends with a NUL; to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Cuts the next word out of *rest, which ends with a separator; NULL behind the last. */
char *fuzz_next(char **rest, const char *separator);

/* From the first on standard output is a text of ours. The second ends that, and returns the text,
 * which lives until the next time. */
void fuzz_capture(void);
const char *fuzz_captured(size_t *length);

/* A word that stands for a password in the inputs. */
#define SECRET "S3CRET"

/* How often it stands there. */
size_t fuzz_count(const char *text, const char *word);

/* Whether the word is in one of those parts of a URL that are shown. There it may be written in a
 * way that fuzz_count does not see (%53). */
bool fuzz_shows_secret(const struct server *server);
