# Builds and installs fairlock. "make help" lists what else there is; the developers' half is tests/dev.mk.
# The knobs with ?= may be set on the command line or in the environment.

VERSION := 0.1.0

PREFIX     ?= /usr/local
DESTDIR    ?=
# Debian's zsh looks in share/zsh/vendor-completions.
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
BUILD      ?= build
# .ci/hiredis and .ci/static-libraries put their results here, whatever BUILD is.
BUILDROOT  ?= build
CFLAGS     ?= -O2 -g
CPPFLAGS   ?=
LDFLAGS    ?=
SANITIZE   ?=
COVERAGE   ?=
PKG_CONFIG ?= pkg-config
INSTALL    ?= install
MUSL_CC    ?= musl-gcc
V          ?= 0

# hiredis speaks RESP3 since 1.1. Debian 12 has an older one: there .ci/hiredis has built ours. The static archive
# saves every process the loading of a library.

HIREDIS_HERE := $(shell $(PKG_CONFIG) --exists 'hiredis >= 1.1' 2>/dev/null && echo yes)
ifeq ($(HIREDIS_HERE),yes)
HIREDIS_CFLAGS := $(shell $(PKG_CONFIG) --cflags hiredis)
HIREDIS_ARCHIVE := $(wildcard $(shell $(PKG_CONFIG) --variable=libdir hiredis)/libhiredis.a)
HIREDIS_LIBS := $(or $(HIREDIS_ARCHIVE),$(shell $(PKG_CONFIG) --libs hiredis))
else
HIREDIS_CFLAGS := -I$(BUILDROOT)/hiredis/include
HIREDIS_ARCHIVE := $(BUILDROOT)/hiredis/lib/libhiredis.a
HIREDIS_LIBS := $(HIREDIS_ARCHIVE)
endif

OPENSSL_CFLAGS := $(shell $(PKG_CONFIG) --cflags openssl 2>/dev/null)
OPENSSL_LIBS := $(or $(shell $(PKG_CONFIG) --libs openssl 2>/dev/null),-lssl -lcrypto)

# fairlock is three programs (src/commands/program.h): a static one that starts fast and runs jobs (with musl), one
# that prints tables, and one with TLS. QUICK=no builds one instead of the first two: without musl, and with
# sanitizers. QUICK=shared keeps the division without musl, for gcov. QUICK=one builds all three as one, with musl:
# "make static".

MUSL := $(shell sed -n 's,.*-specs "\(.*\)/musl-gcc.specs".*,\1,p' "$$(command -v $(MUSL_CC))" 2>/dev/null)
MUSL_HIREDIS := $(wildcard $(if $(MUSL),$(BUILDROOT)/hiredis/lib/libhiredis-musl.a))
MUSL_OTHERS := $(BUILDROOT)/static-libraries
QUICK ?= $(if $(COVERAGE),shared,$(if $(SANITIZE),no,$(if $(MUSL_HIREDIS),yes,no)))

# Flags

try = $(shell printf 'int main(void) { return 0; }\n' | \
	$(CC) -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wvla -Wformat=2 -Wundef -Werror=incompatible-pointer-types
HARDENING := -fPIE -fstack-protector-strong \
	$(call try,-fstack-clash-protection) $(call try,-fcf-protection)

# Fortified functions hide from the sanitizers what these look for; a packager's own level goes before ours.
ifeq ($(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS))$(findstring -O0,$(CFLAGS)),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
# The tests start thousands of programs. A sanitized one starts in two thirds of the time if gcc links the runtime into it, as
# clang does anyway, and if it is no PIE, which has many addresses to correct.
ifneq ($(SANITIZE),)
STATIC_RUNTIME := -static-libasan -static-libubsan
CHECKING := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -fno-pie
CHECKING_LDFLAGS := -no-pie $(if $(call try,-fsanitize=$(SANITIZE) $(STATIC_RUNTIME)),$(STATIC_RUNTIME))
endif
ifneq ($(COVERAGE),)
CHECKING += --coverage -fdata-sections
CHECKING_LDFLAGS += -Wl,-T,tests/coverage/counters.ld,--wrap=__gcov_exit \
	-Wl,--wrap=_exit,--wrap=execv,--wrap=execve,--wrap=kill,--wrap=raise
ENDS := $(BUILD)/tests/ends.o
endif

# The headers of others may warn as they like.
OWN_CPPFLAGS := -D_GNU_SOURCE -DFAIRLOCK_VERSION='"$(VERSION)"' -DFAIRLOCK_PREFIX='"$(PREFIX)"' -Isrc -MMD -MP
ALL_CPPFLAGS := $(OWN_CPPFLAGS) \
	$(patsubst -I%,-isystem %,$(filter-out -I/usr/include,$(HIREDIS_CFLAGS) $(OPENSSL_CFLAGS))) \
	$(CPPFLAGS)
ALL_CFLAGS := -std=c11 $(WARNINGS) $(HARDENING) $(CHECKING) $(CFLAGS)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(CHECKING_LDFLAGS) $(LDFLAGS)
ALL_LIBS := $(HIREDIS_LIBS)

# musl's headers have nothing to fortify.
QUICK_CPPFLAGS := $(OWN_CPPFLAGS) -isystem $(BUILDROOT)/hiredis/include $(CPPFLAGS)
QUICK_CFLAGS := -std=c11 $(WARNINGS) -fstack-protector-strong -ffunction-sections -fdata-sections
QUICK_LDFLAGS := -nostartfiles -static -Wl,-z,noexecstack -Wl,--gc-sections
ifneq ($(QUICK),one)
QUICK_CFLAGS += -fPIE $(CFLAGS)
QUICK_LDFLAGS += -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now $(LDFLAGS)
QUICK_START := $(MUSL)/rcrt1.o
else
# No PIE: OpenSSL's tables have 15,000 addresses, and to correct all of them at each start would take a sixth of the
# time of a short job. Without, the tables are read-only from the first; musl would leave them writable (no RELRO).
# The build ID would be that of the debugging information, which has the names of folders.
QUICK_CPPFLAGS += -isystem $(MUSL_OTHERS)/include
QUICK_CFLAGS += -fno-PIE $(CFLAGS)
QUICK_LDFLAGS += -no-pie -Wl,--build-id=none $(LDFLAGS)
QUICK_START := $(MUSL)/crt1.o
endif
ALLOCATOR_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

# Files

objects = $(patsubst src/%.c,$(BUILD)/%.o,$(sort $(wildcard $(1:%=src/%.c))))

SCRIPTS  := $(sort $(wildcard lua/scripts/*.lua))
COMMON   := $(filter-out $(addprefix $(BUILD)/,redis/tls.o redis/tls_authority.o redis/tls_none.o base/bump_alloc.o), \
	$(call objects,main exec_program supervise/* lock/* cli/* redis/* base/*)) $(BUILD)/scripts.o $(ENDS)
OBJECTS  := $(COMMON) $(call objects,program_full commands/* doctor/* history/* output/* redis/tls_none)
TLS_OBJECTS := $(filter-out %/tls_none.o,$(OBJECTS)) $(call objects,redis/tls redis/tls_authority)
STATIC_OBJECTS := $(COMMON) \
	$(call objects,program_static commands/wrap commands/acquire commands/renew commands/release* output/timestamp redis/tls_none)
QUICK_OBJECTS := $(patsubst $(BUILD)/%,$(BUILD)/quick/%,$(BUILD)/base/bump_alloc.o \
	$(if $(filter one,$(QUICK)),$(TLS_OBJECTS),$(STATIC_OBJECTS)))
QUICK_LIBS := $(MUSL_HIREDIS) \
	$(if $(filter one,$(QUICK)),$(patsubst %,$(MUSL_OTHERS)/lib/lib%.a,ssl crypto))
FULL     := $(BUILD)/fairlock$(if $(filter no,$(QUICK)),,-full)
PROGRAMS := $(BUILD)/fairlock
ifneq ($(QUICK),one)
PROGRAMS := $(sort $(BUILD)/fairlock $(FULL) $(BUILD)/fairlock-tls)
endif

# Building. With -s, and with V=1, nothing is told but what make itself tells.

silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(silent)$(filter 1,$(V)),@:,@printf '  %-5s %s\n' $(1))

all: $(PROGRAMS)

# $(call record,NAME,TEXT): the file BUILD/NAME, with a new time if the text is another one than last time.
record = $(shell mkdir -p $(BUILD))$(file >$(BUILD)/$(1).new,$(2))$(shell cd $(BUILD) && \
	{ cmp -s $(1).new $(1) && rm $(1).new || mv $(1).new $(1); })

ifneq ($(filter-out help clean distclean uninstall deps deb rpm static dist,$(or $(MAKECMDGOALS),all)),)
$(call record,flags,$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS))
$(call record,quick-flags,$(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS))
$(call record,list,$(ALL_LDFLAGS) $(ALL_LIBS) $(TLS_OBJECTS) quick: $(QUICK) $(QUICK_LDFLAGS) $(QUICK_OBJECTS) $(QUICK_LIBS))
endif
$(BUILD)/flags $(BUILD)/quick-flags $(BUILD)/list: ;

ifneq ($(filter yes one,$(QUICK)),)
$(BUILD)/fairlock: $(QUICK_OBJECTS) $(QUICK_LIBS) $(BUILD)/list
	$(call say,LINK $@)
	$(Q)$(MUSL_CC) $(QUICK_LDFLAGS) $(ALLOCATOR_LDFLAGS) -o $@ $(MUSL)/crti.o \
		$(QUICK_OBJECTS) $(QUICK_LIBS) $(QUICK_START) -lc $(MUSL)/crtn.o
endif

ifeq ($(QUICK),shared)
$(BUILD)/fairlock: $(STATIC_OBJECTS) $(BUILD)/list
	$(call say,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(STATIC_OBJECTS) $(ALL_LIBS)
endif

$(FULL): $(OBJECTS) $(BUILD)/list
	$(call say,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(OBJECTS) $(ALL_LIBS)

$(BUILD)/fairlock-tls: $(TLS_OBJECTS) $(BUILD)/list
	$(call say,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(TLS_OBJECTS) $(ALL_LIBS) $(OPENSSL_LIBS)

compile = $(Q)mkdir -p $(@D) && $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<
compile_quick = $(Q)mkdir -p $(@D) && $(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS) -c -o $@ $<

$(BUILD)/quick/scripts.o: $(BUILD)/scripts.c $(BUILD)/quick-flags
	$(call say,MUSL $<)
	$(compile_quick)

$(BUILD)/quick/%.o: src/%.c $(BUILD)/quick-flags | $(QUICK_LIBS)
	$(call say,MUSL $<)
	$(compile_quick)

$(BUILD)/scripts.o: $(BUILD)/scripts.c $(BUILD)/flags
	$(call say,CC $<)
	$(compile)

$(BUILD)/%.o: src/%.c $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(call say,CC $<)
	$(compile)

$(BUILD)/scripts.c: lua/embed lua/join $(wildcard lua/parts/*.lua) $(SCRIPTS) $(BUILD)/list
	$(call say,LUA $@)
	$(Q)lua/embed $(SCRIPTS) >$@

$(MUSL_OTHERS)/%:
	@echo 'There are no libraries for one static program here. "make static" gets them (with apt-get).' >&2
	@exit 1

$(BUILDROOT)/hiredis/lib/libhiredis.a:
	@echo 'There is no hiredis 1.1 or later here. "make deps" gets one (with apt-get, as root or through sudo).' >&2
	@exit 1

-include $(sort $(TLS_OBJECTS:.o=.d) $(OBJECTS:.o=.d) $(STATIC_OBJECTS:.o=.d) $(QUICK_OBJECTS:.o=.d))

# Installing

share := $(DESTDIR)$(PREFIX)/share
examples := $(share)/doc/fairlock/examples
MANUAL := $(sort $(notdir $(wildcard man/*.[1-9])))
EXAMPLES := $(sort $(notdir $(wildcard man/examples/*)))
UNIT := $(DESTDIR)$(PREFIX)/lib/systemd/system/fairlock-server.service
SYSUSERS := $(DESTDIR)$(PREFIX)/lib/sysusers.d/fairlock.conf

install: all
	$(INSTALL) -D -m 755 $(BUILD)/fairlock $(DESTDIR)$(PREFIX)/bin/fairlock
	set -e; for program in $(notdir $(filter-out $(BUILD)/fairlock,$(PROGRAMS))); do \
		$(INSTALL) -D -m 755 $(BUILD)/$$program $(DESTDIR)$(PREFIX)/libexec/$$program; done
	set -e; for page in $(MANUAL); do \
		$(INSTALL) -D -m 644 man/$$page $(share)/man/man$${page##*.}/$$page; done
	$(INSTALL) -D -m 644 completions/fairlock.bash $(share)/bash-completion/completions/fairlock
	$(INSTALL) -D -m 644 completions/_fairlock $(DESTDIR)$(ZSHDIR)/_fairlock
	$(INSTALL) -D -m 644 completions/fairlock.fish $(share)/fish/vendor_completions.d/fairlock.fish
	$(INSTALL) -d $(examples)
	$(INSTALL) -m 644 $(EXAMPLES:%=man/examples/%) $(examples)
	$(INSTALL) -D -m 755 src/server/fairlock-server $(DESTDIR)$(PREFIX)/libexec/fairlock-server
	$(INSTALL) -D -m 644 src/server/fairlock.sysusers $(SYSUSERS)
	$(INSTALL) -d $(dir $(UNIT))
	sed 's,@PREFIX@,$(PREFIX),' src/server/fairlock-server.service >$(UNIT)
	chmod 644 $(UNIT)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/fairlock $(DESTDIR)$(PREFIX)/libexec/fairlock-full \
		$(DESTDIR)$(PREFIX)/libexec/fairlock-tls $(DESTDIR)$(PREFIX)/libexec/fairlock-server $(UNIT) $(SYSUSERS) \
		$(foreach page,$(MANUAL),$(share)/man/man$(subst .,,$(suffix $(page)))/$(page)) \
		$(share)/bash-completion/completions/fairlock \
		$(DESTDIR)$(ZSHDIR)/_fairlock \
		$(share)/fish/vendor_completions.d/fairlock.fish \
		$(EXAMPLES:%=$(examples)/%)
	test ! -d $(examples) || rmdir --ignore-fail-on-non-empty $(examples) $(share)/doc/fairlock

include tests/dev.mk

.PHONY: all install uninstall
.DELETE_ON_ERROR:
.SECONDARY:
