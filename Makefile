# Builds and installs fairlock. "make help" lists what else there is; the developers' half is tests/dev.mk.
# The knobs with ?= may be set on the command line or in the environment.

VERSION := 0.1.0

PREFIX     ?= /usr/local
DESTDIR    ?=
# Debian's zsh looks in share/zsh/vendor-completions.
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
BUILD      ?= build
SANITIZE   ?=
COVERAGE   ?=
# yes: one static file with musl, which starts in half the time, and the libraries of "make deps".
# no: one dynamic program with the system's compiler and libraries. Sanitizers and coverage need that.
STATIC     ?= $(if $(SANITIZE)$(COVERAGE),no,yes)
CFLAGS     ?= -O2 -g
CPPFLAGS   ?=
LDFLAGS    ?=
MUSL_CC    ?= musl-gcc
PKG_CONFIG ?= pkg-config
INSTALL    ?= install
V          ?= 0

# Libraries. src/deps/build puts its own into build/deps, whatever BUILD is.

MODE := $(if $(filter no,$(STATIC)),dynamic,static)
DEPS := build/deps/$(MODE)
BUILT := $(DEPS)/licenses/SOURCES
HIREDIS := hiredis >= 1.1 hiredis_ssl >= 1.1
ARCHIVES := $(DEPS)/lib/libhiredis_ssl.a $(DEPS)/lib/libhiredis.a
ifeq ($(MODE),static)
COMPILER := $(MUSL_CC)
LIBS := $(ARCHIVES) -lc $(DEPS)/lib/libssl.a $(DEPS)/lib/libcrypto.a
LIBS_CPPFLAGS := -isystem $(DEPS)/include
else
COMPILER := $(CC)
OPENSSL := $(or $(shell $(PKG_CONFIG) --libs openssl 2>/dev/null),-lssl -lcrypto)
ifeq ($(shell $(PKG_CONFIG) --exists '$(HIREDIS)' 2>/dev/null && echo here),here)
BUILT :=
LIBS := $(shell $(PKG_CONFIG) --libs '$(HIREDIS)') $(OPENSSL)
LIBS_CPPFLAGS := $(shell $(PKG_CONFIG) --cflags '$(HIREDIS)' openssl 2>/dev/null)
else
LIBS := $(ARCHIVES) $(OPENSSL)
LIBS_CPPFLAGS := -isystem $(DEPS)/include $(shell $(PKG_CONFIG) --cflags openssl 2>/dev/null)
endif
endif

# Flags

try = $(shell printf 'int main(void) { return 0; }\n' | \
	$(COMPILER) -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wvla -Wformat=2 -Wundef -Werror=incompatible-pointer-types
HARDENING := -fstack-protector-strong $(call try,-fstack-clash-protection) $(call try,-fcf-protection)

# No PIE in the static program: to correct OpenSSL's 15,000 addresses at each start would take a sixth of the time of a
# short job. What a short job needs lies side by side, so that fewer pages are read: our strings are not merged with
# OpenSSL's, and the C library stands before OpenSSL. musl's headers have nothing to fortify. The build ID would be that of
# the debugging information, which has the names of folders.
ifeq ($(MODE),static)
HARDENING += -fno-PIE -ffunction-sections -fdata-sections -fno-merge-constants
LINKING := -static -no-pie -Wl,--gc-sections,--build-id=none,-z,noexecstack
ALLOCATOR := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
else
HARDENING += -fPIE
LINKING := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
# Fortified functions hide from the sanitizers what these look for; a packager's own level goes before ours.
ifeq ($(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS))$(findstring -O0,$(CFLAGS)),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
endif

OWN_CPPFLAGS := -D_GNU_SOURCE -DFAIRLOCK_VERSION='"$(VERSION)"' -Isrc -MMD -MP
# The headers of others may warn as they like. CHECKING: of the sanitizers and of coverage, in tests/dev.mk
ALL_CPPFLAGS = $(OWN_CPPFLAGS) $(patsubst -I%,-isystem %,$(filter-out -I/usr/include,$(LIBS_CPPFLAGS))) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(WARNINGS) $(HARDENING) $(CHECKING) $(CFLAGS)
ALL_LDFLAGS = $(LINKING) $(CHECKING_LDFLAGS) $(LDFLAGS)

# Building. With -s, and with V=1, nothing is told but what make itself tells.

SCRIPTS := $(sort $(wildcard lua/scripts/*.lua))
# bump_alloc stands before musl's malloc, and before no other.
OBJECTS := $(patsubst src/%.c,$(BUILD)/%.o,$(sort \
	$(filter-out $(if $(ALLOCATOR),,%/bump_alloc.c),$(wildcard src/*.c src/*/*.c)))) $(BUILD)/scripts.o

silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(silent)$(filter 1,$(V)),@:,@printf '  %-5s %s\n' $(1))

all: $(BUILD)/fairlock

include tests/dev.mk

# What is built is built anew when these say something else than last time. Several makes may ask at once.
$(BUILD)/flags: export TEXT = $(COMPILER) $(ALL_CPPFLAGS) $(ALL_CFLAGS)
$(BUILD)/list: export TEXT = $(MODE) $(ALL_LDFLAGS) $(LIBS) $(OBJECTS)
$(BUILD)/flags $(BUILD)/list: FORCE
	@mkdir -p $(@D)
	@printf "%s\n" "$$TEXT" >$@.$$$$ && { cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@; }

link = $(Q)mkdir -p $(@D) && $(COMPILER) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALLOCATOR) -o $@ $(filter %.o,$^) $(LIBS)
compile = $(Q)mkdir -p $(@D) && $(COMPILER) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/fairlock: $(OBJECTS) $(BUILT) $(BUILD)/list
	$(call say,LINK $@)
	$(link)

$(BUILD)/scripts.o: $(BUILD)/scripts.c $(BUILD)/flags
	$(call say,CC $<)
	$(compile)

$(BUILD)/%.o: src/%.c $(BUILD)/flags | $(BUILT)
	$(call say,CC $<)
	$(compile)

$(BUILD)/scripts.c: lua/embed lua/join $(wildcard lua/parts/*.lua) $(SCRIPTS) $(BUILD)/list
	$(call say,LUA $@)
	$(Q)lua/embed $(SCRIPTS) >$@

build/deps/static/licenses/SOURCES:
	@echo 'There are no libraries for a static program here: "make deps" builds them (on Debian), "make STATIC=no" takes those of the system.' >&2
	@exit 1

build/deps/dynamic/licenses/SOURCES:
	@echo 'There is no hiredis 1.1 or later with TLS here: install it, or run "make deps STATIC=no" (on Debian).' >&2
	@exit 1

-include $(OBJECTS:.o=.d)

# Installing

share := $(DESTDIR)$(PREFIX)/share
examples := $(share)/doc/fairlock/examples
MANUAL := $(sort $(notdir $(wildcard man/*.[1-9])))
EXAMPLES := $(sort $(notdir $(wildcard man/examples/*)))
UNIT := $(DESTDIR)$(PREFIX)/lib/systemd/system/fairlock-server.service
SYSUSERS := $(DESTDIR)$(PREFIX)/lib/sysusers.d/fairlock.conf

install: all
	$(INSTALL) -D -m 755 $(BUILD)/fairlock $(DESTDIR)$(PREFIX)/bin/fairlock
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
	rm -f $(DESTDIR)$(PREFIX)/bin/fairlock $(DESTDIR)$(PREFIX)/libexec/fairlock-server $(UNIT) $(SYSUSERS) \
		$(foreach page,$(MANUAL),$(share)/man/man$(subst .,,$(suffix $(page)))/$(page)) \
		$(share)/bash-completion/completions/fairlock \
		$(DESTDIR)$(ZSHDIR)/_fairlock \
		$(share)/fish/vendor_completions.d/fairlock.fish \
		$(EXAMPLES:%=$(examples)/%)
	test ! -d $(examples) || rmdir --ignore-fail-on-non-empty $(examples) $(share)/doc/fairlock

.PHONY: all FORCE install uninstall
.DELETE_ON_ERROR:
.SECONDARY:
