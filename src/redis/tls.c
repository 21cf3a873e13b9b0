/* TLS with OpenSSL: what a session is configured with, its handshake, and what a failure means.
 * hiredis reads and writes through the session. */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redis/server.h"

/* ---- What failed ---- */

/* The oldest error that OpenSSL has noted, in its words or those of the system. */
static const char *reason(void)
{
	const unsigned long code = ERR_peek_error();
	const char *text = NULL;

	if (ERR_SYSTEM_ERROR(code))
		text = strerror(ERR_GET_REASON(code));
	else if (code)
		text = ERR_reason_error_string(code);
	return text ? text : "no reason given";
}

/* Whether the other end refuses us; tells why. */
static bool objects(SSL *ssl, char *text, size_t size)
{
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		/* under TLS 1.2 it asks for a certificate, and then just lets the handshake fail */
		if (SSL_get0_certificate_types(ssl, NULL) == 0 || SSL_get_certificate(ssl))
			return false;
		__attribute__((fallthrough));
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		snprintf(text, size, "it wants a certificate of ours (--tls-cert)");
		return true;
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
		snprintf(text, size, "it does not accept our certificate: %s", reason());
		return true;
	default:
		return false;
	}
}

/* ---- The authorities that the system trusts ---- */

/* OpenSSL's own places are those of the system for which it was built. The static program runs on
 * others, and in containers that have a single file of certificates and nothing else. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* newer ones */
	"/etc/ssl/ca-bundle.pem",                            /* SUSE */
	NULL,
};

/* OpenSSL finds a certificate in a folder by its name there, a hash with ".0". */
static bool has_certificates(const char *folder)
{
	char pattern[PATH_MAX];
	glob_t found = {0};
	bool has_some;

	snprintf(pattern, sizeof(pattern), "%s/????????.0", folder);
	has_some = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
	globfree(&found);
	return has_some;
}

static bool is_found_by_openssl(void)
{
	return getenv(X509_get_default_cert_file_env()) ||
	       getenv(X509_get_default_cert_dir_env()) ||
	       access(X509_get_default_cert_file(), R_OK) == 0 ||
	       has_certificates(X509_get_default_cert_dir());
}

static int trust_system(SSL_CTX *context)
{
	if (!SSL_CTX_set_default_verify_paths(context))
		return 0;
	if (is_found_by_openssl())
		return 1;
	for (size_t i = 0; bundles[i]; i++) {
		if (access(bundles[i], R_OK) == 0)
			return SSL_CTX_load_verify_file(context, bundles[i]);
	}
	return 1;
}

/* ---- Files ---- */

/* A key that needs a password is refused: a cron job could not type it. */
static int no_password(char *buffer, int size, int writing, void *wanted)
{
	(void)buffer;
	(void)size;
	(void)writing;
	*(bool *)wanted = true;
	return -1;
}

static int load_authority(SSL_CTX *context, const char *path)
{
	struct stat about;

	if (!path)
		return trust_system(context);
	if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
		return SSL_CTX_load_verify_dir(context, path);
	return SSL_CTX_load_verify_file(context, path);
}

/* OpenSSL's own words for a useless file only tell how OpenSSL tried to read it. */
static int refuse(struct error *err, const char *option, const char *path, const char *lacks)
{
	char verb[32];

	snprintf(verb, sizeof(verb), "use --%s", option);
	return fail_about(err, STATUS_CONFIG, verb, path,
			  lacks && !ERR_SYSTEM_ERROR(ERR_peek_error()) ? lacks : reason());
}

static int load_key(SSL_CTX *context, const char *path, struct error *err)
{
	bool wants_password = false;
	int loaded;

	SSL_CTX_set_default_passwd_cb(context, no_password);
	SSL_CTX_set_default_passwd_cb_userdata(context, &wants_password);
	loaded = SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM);
	SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
	if (loaded)
		return 0;
	if (wants_password)
		return refuse(err, "tls-key", path, "the key has a password");
	if (ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH)
		return refuse(err, "tls-key", path, "the key does not belong to the certificate");
	return refuse(err, "tls-key", path, "there is no key in it");
}

static int configure(SSL_CTX *context, const struct tls_files *files, struct error *err)
{
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_verify(context, files->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (!load_authority(context, files->ca))
		return refuse(err, "tls-ca", files->ca ? files->ca : "(that of the system)",
			      files->ca ? "there is no certificate in it" : NULL);
	if (!files->cert)
		return 0;
	if (!SSL_CTX_use_certificate_chain_file(context, files->cert))
		return refuse(err, "tls-cert", files->cert, "there is no certificate in it");
	return load_key(context, files->key ? files->key : files->cert, err);
}

/* ---- Sessions ---- */

/* The server gets the name, too (SNI): it may have a certificate for each of its names. There the
 * name stands without the final dot that a resolver allows. The subject of a certificate is no name
 * of a host (RFC 9525), even if the certificate names none. */
static int expect_host(SSL *ssl, const char *host)
{
	char name[HOST_MAX_BYTES];
	const size_t length = strlen(host);
	struct in6_addr address;

	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	snprintf(name, sizeof(name), "%s", host);
	if (length > 0 && host[length - 1] == '.')
		name[length - 1] = '\0';
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
				       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

/* OpenSSL keeps an error until it is cleared, and hiredis would take it for one of another session:
 * it goes with the session that failed. */
static void end_session(void *ssl)
{
	ERR_clear_error();
	SSL_free(ssl);
}

int tls_start(struct redisContext *redis, const struct server *server, const char *host,
	      struct error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int result = context ? configure(context, &server->tls_files, err) : 0;
	SSL *ssl = context && result == 0 ? SSL_new(context) : NULL;

	if (result == 0 && !(ssl && expect_host(ssl, host)))
		result = fail(err, STATUS_OS, "cannot use TLS: %s", reason());
	redis->privdata = ssl;
	redis->free_privdata = end_session;
	SSL_CTX_free(context); /* the session keeps it */
	ERR_clear_error();
	return result;
}

static int handshake_failed(struct redisContext *redis, struct error *err)
{
	const int saved_errno = errno;
	SSL *ssl = redis->privdata;
	const long verdict = SSL_get_verify_result(ssl);
	const int code = ERR_GET_REASON(ERR_peek_error());
	char text[128];

	if (code == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return fail(err, STATUS_UNAVAILABLE, "its certificate is not trusted: %s",
			    X509_verify_cert_error_string(verdict));
	if (objects(ssl, text, sizeof(text)))
		return fail(err, STATUS_REFUSED, "%s", text);
	if (code == SSL_R_WRONG_VERSION_NUMBER)
		return fail(err, STATUS_UNAVAILABLE, "it does not speak TLS");
	if (code && code != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return fail(err, STATUS_UNAVAILABLE, "the TLS handshake failed: %s", reason());
	redis->err = REDIS_ERR_EOF;
	return fail(err, STATUS_UNAVAILABLE, "the TLS handshake failed: %s",
		    saved_errno ? strerror(saved_errno) : "the connection was closed");
}

int tls_shake_hands(struct redisContext *redis, struct error *err)
{
	SSL *ssl = redis->privdata;

	errno = 0; /* where the other end just closes, the system has no words for it */
	if (!redis->privctx) {
		if (redisInitiateSSL(redis, ssl) != REDIS_OK)
			return handshake_failed(redis, err);
		SSL_up_ref(ssl); /* hiredis frees it, and so does end_session */
		errno = 0;
	}
	switch (SSL_get_error(ssl, SSL_do_handshake(ssl))) {
	case SSL_ERROR_NONE:
		ERR_clear_error();
		return 0;
	case SSL_ERROR_WANT_READ:
		return POLLIN;
	case SSL_ERROR_WANT_WRITE:
		return POLLOUT;
	default:
		return handshake_failed(redis, err);
	}
}

/* hiredis knows no more than that it could not read or write. */
void tls_explain(struct redisContext *redis)
{
	SSL *ssl = redis->privdata;
	char last_words;
	int code;

	if (!ssl)
		return;
	code = ERR_GET_REASON(ERR_peek_error());
	/* The other end takes no more bytes. It may have said why: under TLS 1.3 it judges our
	 * certificate when we are already talking. */
	if (!code && redis->err == REDIS_ERR_IO)
		SSL_read(ssl, &last_words, 1);
	if (objects(ssl, redis->errstr, sizeof(redis->errstr)))
		redis->err = TLS_REFUSED;
	else if (code && code != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		snprintf(redis->errstr, sizeof(redis->errstr), "%s", reason());
}

const char *tls_protocol(const struct redisContext *redis)
{
	return redis && redis->privdata ? SSL_get_version(redis->privdata) : NULL;
}
