/* OpenSSL's own places are those of the system for which it was built. The static program runs on
 * others, and in containers that have a single file of certificates and nothing else. */
#include "redis/tls_authority.h"

#include <dirent.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* newer ones */
	"/etc/ssl/ca-bundle.pem",                            /* SUSE */
	NULL,
};

/* OpenSSL finds a certificate in a folder by its name there, a hash with ".0". */
static bool has_certificates(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder)) != NULL)
		found = strlen(entry->d_name) == 10 && strcmp(entry->d_name + 8, ".0") == 0;
	if (folder)
		closedir(folder);
	return found;
}

static bool is_found_by_openssl(void)
{
	return getenv(X509_get_default_cert_file_env()) ||
	       getenv(X509_get_default_cert_dir_env()) ||
	       access(X509_get_default_cert_file(), R_OK) == 0 ||
	       has_certificates(X509_get_default_cert_dir());
}

int tls_trust_system(SSL_CTX *context)
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
