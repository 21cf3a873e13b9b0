/* TLS with OpenSSL: what hiredis reads and writes through, and what a failure there means. */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redis/server.h"
#include "redis/tls_authority.h"


/* ---- What hiredis reads and writes through ---- */

static void end_session(void *ssl)
{
	SSL_free(ssl); /* without a good-bye: another process may go on with the session */
}

static void close_socket(redisContext *redis)
{
	if (redis->fd >= 0)
		close(redis->fd);
	redis->fd = REDIS_INVALID_FD;
}

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

static bool is_about_our_certificate(void)
{
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
		return true;
	default:
		return false;
	}
}

/* Under TLS 1.2 the other end asks for a certificate, and then just lets the handshake fail. */
static bool is_about_having_none(SSL *ssl)
{
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		return true;
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		return SSL_get0_certificate_types(ssl, NULL) > 0 && !SSL_get_certificate(ssl);
	default:
		return false;
	}
}

/* Whether the other end refuses us; tells why. */
static bool objects(SSL *ssl, char *text, size_t size)
{
	if (is_about_having_none(ssl))
		snprintf(text, size, "it wants a certificate of ours (--tls-cert)");
	else if (is_about_our_certificate())
		snprintf(text, size, "it does not accept our certificate: %s", reason());
	else
		return false;
	return true;
}

static bool is_end(int code)
{
	return code == SSL_ERROR_ZERO_RETURN ||
	       (code == SSL_ERROR_SSL &&
		ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
}

static ssize_t broke(redisContext *redis, int code, int saved_errno)
{
	const bool against_us = code == SSL_ERROR_SSL &&
				objects(redis->privctx, redis->errstr, sizeof(redis->errstr));

	redis->err = against_us ? TLS_REFUSED : is_end(code) ? REDIS_ERR_EOF : REDIS_ERR_IO;
	if (!against_us)
		snprintf(redis->errstr, sizeof(redis->errstr), "%s",
			 is_end(code)                               ? "Server closed the connection"
			 : code == SSL_ERROR_SYSCALL && saved_errno ? strerror(saved_errno)
								    : reason());
	return -1;
}

/* Turns the result of SSL_read or SSL_write into the one that hiredis expects. */
static ssize_t passed(redisContext *redis, int result)
{
	const int saved_errno = errno;
	const int code = SSL_get_error(redis->privctx, result);

	if (result > 0)
		return result;
	if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
		return 0;
	return broke(redis, code, saved_errno);
}

static ssize_t read_session(redisContext *redis, char *buffer, size_t size)
{
	ERR_clear_error();
	errno = 0;
	return passed(redis, SSL_read(redis->privctx, buffer, (int)size));
}

/* The other end takes no more bytes. It may have said why: under TLS 1.3 it judges our certificate
 * when we are already talking. */
static ssize_t write_failed(redisContext *redis, int saved_errno)
{
	char last_words, text[128];

	ERR_clear_error();
	if (SSL_read(redis->privctx, &last_words, 1) <= 0 &&
	    objects(redis->privctx, text, sizeof(text)))
		return broke(redis, SSL_ERROR_SSL, 0);
	return broke(redis, SSL_ERROR_SYSCALL, saved_errno);
}

static ssize_t write_session(redisContext *redis)
{
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_write(redis->privctx, redis->obuf, (int)sdslen(redis->obuf));
	if (result <= 0 && SSL_get_error(redis->privctx, result) == SSL_ERROR_SYSCALL)
		return write_failed(redis, errno);
	return passed(redis, result);
}

static const redisContextFuncs functions = {
	.close = close_socket,
	.free_privctx = end_session,
	.read = read_session,
	.write = write_session,
};

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
		return tls_trust_system(context);
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
	SSL_CTX_set_mode(context,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
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

static bool is_address(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* The server gets the name, too (SNI): it may have a certificate for each of its names. There the
 * name stands without the final dot that a resolver allows. The subject of a certificate is no name
 * of a host (RFC 9525), even if the certificate names none. */
static int expect_host(SSL *ssl, const char *host)
{
	char name[HOST_MAX_BYTES];
	const size_t length = strlen(host);

	if (is_address(host))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	snprintf(name, sizeof(name), "%s", host);
	if (length > 0 && host[length - 1] == '.')
		name[length - 1] = '\0';
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
				       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

static SSL *new_session(SSL_CTX *context, redisContext *redis, const char *host, struct error *err)
{
	SSL *ssl = SSL_new(context);

	if (ssl && SSL_set_fd(ssl, redis->fd) && expect_host(ssl, host)) {
		SSL_set_connect_state(ssl);
		return ssl;
	}
	fail(err, STATUS_OS, "cannot use TLS: %s", reason());
	SSL_free(ssl);
	return NULL;
}

int tls_start(struct redisContext *redis, const struct server *server, const char *host,
	      struct error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = NULL;

	ERR_clear_error();
	if (!context)
		return fail(err, STATUS_OS, "cannot use TLS: %s", reason());
	if (configure(context, &server->tls_files, err) == 0)
		ssl = new_session(context, redis, host, err);
	SSL_CTX_free(context); /* the session keeps it */
	if (!ssl)
		return -1;
	redis->privctx = ssl;
	redis->funcs = &functions;
	return 0;
}

static int handshake_failed(struct redisContext *redis, int saved_errno, struct error *err)
{
	SSL *ssl = redis->privctx;
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

int tls_shake_hands(struct redisContext *redis, short *events, struct error *err)
{
	SSL *ssl = redis->privctx;
	int result, saved_errno;

	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(ssl);
	saved_errno = errno;
	if (result == 1)
		return 0;
	switch (SSL_get_error(ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*events = POLLIN;
		return 1;
	case SSL_ERROR_WANT_WRITE:
		*events = POLLOUT;
		return 1;
	default:
		return handshake_failed(redis, saved_errno, err);
	}
}

const char *tls_protocol(const struct redisContext *redis)
{
	return redis->funcs == &functions ? SSL_get_version(redis->privctx) : NULL;
}
