/* What all fuzz targets use: checks, inputs, captured output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

/* libFuzzer calls these. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process unless the condition holds; libFuzzer then keeps the input. */
#define HOLDS(condition) fuzz_holds(condition, __FILE__, __LINE__, #condition)

void fuzz_holds(bool holds, const char *file, int line, const char *what);

/* Returns a copy that ends with a NUL; the caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Cuts the next word out of *rest, which ends with a separator; NULL behind the last. */
char *fuzz_next(char **rest, const char *separator);

/* fuzz_capture turns standard output into a text. fuzz_captured ends that, and returns the text,
 * which lives until the next fuzz_capture. */
void fuzz_capture(void);
const char *fuzz_captured(size_t *length);

/* A word that stands for a password in the inputs. */
#define SECRET "S3CRET"

/* Returns how often the word is in the text. */
size_t fuzz_count(const char *text, const char *word);

/* Whether SECRET is in a part of a URL that is shown. The URL may spell it in a way that fuzz_count
 * does not see (%53). */
bool fuzz_shows_secret(const struct server *server);
