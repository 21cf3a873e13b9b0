/* The authorities that the system trusts. */
#pragma once

#include <openssl/ssl.h>

/* Has the context trust them: those that OpenSSL finds (SSL_CERT_FILE, SSL_CERT_DIR, its own
 * places), or else those of the places where distributions keep them. Returns 1, or 0 with
 * OpenSSL's error. */
int tls_trust_system(SSL_CTX *context);
