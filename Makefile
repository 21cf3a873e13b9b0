# fairlock
#
# make            builds $(BUILD)/fairlock and installs nothing
# make deps       installs what a build needs (see .ci/setup)
# make check      installs what the tests need, builds, runs all tests
# make check TESTS='tests/wrap.bats'       some of them
# make check SERVER=build/servers/valkey/bin/valkey-server     with the server of Debian 13 (.ci/servers)
# make matrix     all tests, on every Redis and Valkey that Debian has; takes an hour
# make check-interop                       with real Redisson, through a JDK and Maven
# make check-model                         every state of the models, with spin
# make torture DURATION=1h [SEED=N]        dozens of processes, and all that can be done to them
# make fuzz [FUZZ=url] [FUZZ_SECONDS=60]   everything that reads what others wrote, with libFuzzer
# make deb        builds a Debian package, $(BUILD)/fairlock_*.deb
# make coverage   lines and branches that the tests reach, of src/ and lua/
# make valgrind   no leak, no descriptor left open
# make check-deb  ... installs it in a clean Debian root, and runs it there (as root)
# make BUILD=build/asan SANITIZE=address,undefined
#
# Every knob below may be set on the command line or in the environment.

VERSION := 0.1.0

PREFIX  ?= /usr/local
DESTDIR ?=
# Debian's zsh looks in share/zsh/vendor-completions.
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
BUILD   ?= build
CFLAGS  ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
SANITIZE ?=
COVERAGE ?=
TESTS   ?=
DURATION ?= 60s
SEED    ?=
PKG_CONFIG ?= pkg-config
INSTALL ?= install
# Where .ci/hiredis puts its result, whatever BUILD is.
BUILDROOT ?= build

# hiredis speaks RESP3 since 1.1. Debian 12 has an older one: there .ci/hiredis
# has built ours. The static archive saves every process the loading of a library.

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

SMARTCOLS_CFLAGS := $(shell $(PKG_CONFIG) --cflags smartcols 2>/dev/null)
SMARTCOLS_LIBS := $(or $(shell $(PKG_CONFIG) --libs smartcols 2>/dev/null),-lsmartcols)

# Where there is musl, and hiredis built with it, fairlock is a static program that starts in a fraction of the
# time, and leaves to fairlock-full what needs shared libraries (src/program.h). QUICK=no: one program for all.
# QUICK=shared: the same division without musl, which neither sanitizers nor gcov know.

MUSL_CC ?= musl-gcc
MUSL := $(shell sed -n 's,.*-specs "\(.*\)/musl-gcc.specs".*,\1,p' "$$(command -v $(MUSL_CC))" 2>/dev/null)
MUSL_HIREDIS := $(wildcard $(if $(MUSL),$(BUILDROOT)/hiredis/lib/libhiredis-musl.a))
QUICK ?= $(if $(COVERAGE),shared,$(if $(SANITIZE),no,$(if $(MUSL_HIREDIS),yes,no)))

# TLS is a program of its own (src/program.h): loading OpenSSL would slow down everybody else's.

OPENSSL_CFLAGS := $(shell $(PKG_CONFIG) --cflags openssl 2>/dev/null)
OPENSSL_LIBS := $(or $(shell $(PKG_CONFIG) --libs openssl 2>/dev/null),-lssl -lcrypto)

# Flags

try = $(shell printf 'int main(void) { return 0; }\n' | \
	$(CC) -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wvla -Wformat=2 -Wundef -Werror=incompatible-pointer-types

HARDENING := -fPIE -fstack-protector-strong \
	$(call try,-fstack-clash-protection) $(call try,-fcf-protection)

# Fortified functions hide from the sanitizers what these look for; a packager's
# own level goes before ours.
ifeq ($(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS))$(findstring -O0,$(CFLAGS)),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif

ifneq ($(SANITIZE),)
SANITIZING := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

ENDS :=
ifneq ($(COVERAGE),)
COVERING := --coverage
ENDS := $(BUILD)/ends.o
COVERING_LDFLAGS := -Wl,--wrap=_exit,--wrap=execv,--wrap=execve,--wrap=kill,--wrap=raise
endif

# The headers of others may warn as they like.
OWN_CPPFLAGS := -D_GNU_SOURCE -DFAIRLOCK_VERSION='"$(VERSION)"' -DFAIRLOCK_PREFIX='"$(PREFIX)"' -Isrc
ALL_CPPFLAGS := $(OWN_CPPFLAGS) \
	$(patsubst -I%,-isystem %,$(filter-out -I/usr/include,$(HIREDIS_CFLAGS) $(SMARTCOLS_CFLAGS) $(OPENSSL_CFLAGS))) \
	-MMD -MP $(CPPFLAGS)
ALL_CFLAGS := -std=c11 $(WARNINGS) $(HARDENING) $(SANITIZING) $(COVERING) $(CFLAGS)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(COVERING_LDFLAGS) $(LDFLAGS)
ALL_LIBS := $(HIREDIS_LIBS) $(SMARTCOLS_LIBS)

# musl's headers have nothing to fortify.
QUICK_CPPFLAGS := $(OWN_CPPFLAGS) -isystem $(BUILDROOT)/hiredis/include -MMD -MP $(CPPFLAGS)
QUICK_CFLAGS := -std=c11 $(WARNINGS) -fPIE -fstack-protector-strong $(CFLAGS)
QUICK_LDFLAGS := -nostartfiles -static -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)
POOL_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

# What there is

SOURCES  := $(sort $(filter-out src/quick.c src/pool.c src/tls.c,$(wildcard src/*.c)))
LUA_PARTS := lua/prelude.lua $(shell sed -n 's,^[[:blank:]]*-- include ,lua/,p' lua/*.lua | sort -u)
SCRIPTS  := $(sort $(filter-out $(LUA_PARTS),$(wildcard lua/*.lua)))
OBJECTS  := $(SOURCES:src/%.c=$(BUILD)/%.o) $(BUILD)/scripts.o $(ENDS)
TLS_OBJECTS := $(filter-out $(BUILD)/notls.o,$(OBJECTS)) $(BUILD)/tls.o
PARTS    := $(filter-out $(BUILD)/main.o,$(OBJECTS))
NOT_QUICK := full status queue log watch looker restorer names nodes table metrics fit complete about \
	doctor examine checkserver checkreplicas checktimes checkuser checklocks facts report origins \
	event history spans stats plot rows labels crowd axis moment
QUICK_OBJECTS := $(filter-out $(NOT_QUICK:%=$(BUILD)/quick/%.o), \
	$(OBJECTS:$(BUILD)/%=$(BUILD)/quick/%) $(BUILD)/quick/quick.o)
POOL     := $(BUILD)/quick/pool.o
SHARED_QUICK_OBJECTS := $(QUICK_OBJECTS:$(BUILD)/quick/%=$(BUILD)/%)
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/*.c)))
# Programs that bats tests drive.
PROGRAMS := $(patsubst tests/programs/%.c,$(BUILD)/programs/%,$(sort $(filter-out tests/programs/clockwork.c, \
	$(wildcard tests/programs/*.c))))
# A library that they preload.
CLOCKWORK := $(BUILD)/programs/clockwork.so
# Programs that benchmarks run: built as fairlock is.
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(sort $(wildcard tests/bench/*.c))) $(BUILD)/bench/ping-shared

MANUAL   := $(sort $(notdir $(wildcard man/*.[1-9])))
EXAMPLES := $(sort $(notdir $(wildcard man/examples/*)))

.PHONY: all tests install uninstall deb deps check check-built matrix check-interop check-model fuzz fuzz-targets \
	torture check-deb coverage valgrind bench demo lint format clean distclean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

FULL := $(BUILD)/fairlock$(if $(filter no,$(QUICK)),,-full)
PROGRAM := $(sort $(BUILD)/fairlock $(FULL) $(BUILD)/fairlock-tls)

all: $(PROGRAM)

ifeq ($(QUICK),yes)
$(BUILD)/fairlock: $(QUICK_OBJECTS) $(POOL) $(MUSL_HIREDIS) $(BUILD)/list
	$(MUSL_CC) $(QUICK_LDFLAGS) $(POOL_LDFLAGS) -o $@ $(MUSL)/crti.o \
		$(QUICK_OBJECTS) $(POOL) $(MUSL_HIREDIS) $(MUSL)/rcrt1.o -lc $(MUSL)/crtn.o
endif

ifeq ($(QUICK),shared)
$(BUILD)/fairlock: $(SHARED_QUICK_OBJECTS) $(BUILD)/list
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(SHARED_QUICK_OBJECTS) $(ALL_LIBS)
endif

tests: $(PROGRAM) $(UNITS) $(PROGRAMS) $(CLOCKWORK) $(BENCHES)

$(FULL): $(OBJECTS) $(BUILD)/list
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(OBJECTS) $(ALL_LIBS)

$(BUILD)/fairlock-tls: $(TLS_OBJECTS) $(BUILD)/list
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(TLS_OBJECTS) $(ALL_LIBS) $(OPENSSL_LIBS)

$(BUILD)/quick/%.o: src/%.c $(BUILD)/flags
	$(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS) -c -o $@ $<

$(BUILD)/quick/scripts.o: $(BUILD)/scripts.c $(BUILD)/flags
	$(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS) -c -o $@ $<

$(BUILD)/%.o: src/%.c $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# That a process ends is not to be counted.
$(BUILD)/ends.o: tests/coverage/ends.c $(BUILD)/flags
	$(CC) $(ALL_CPPFLAGS) $(filter-out $(COVERING),$(ALL_CFLAGS)) -c -o $@ $<

$(BUILD)/scripts.o: $(BUILD)/scripts.c $(BUILD)/flags
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/scripts.c: lua/embed lua/join $(LUA_PARTS) $(SCRIPTS) $(BUILD)/list
	lua/embed $(SCRIPTS) >$@

# A rule each: to make 4.4, two patterns in one are two files that one command makes.
LINK_TEST = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(PARTS) $(MORE_PARTS) $(ALL_LIBS)

$(BUILD)/unit/pool: MORE_PARTS := $(BUILD)/pool.o
$(BUILD)/unit/pool: $(BUILD)/pool.o

$(BUILD)/unit/%: tests/unit/%.c $(PARTS) $(BUILD)/list
	$(LINK_TEST)

$(BUILD)/programs/%: tests/programs/%.c $(PARTS) $(BUILD)/list
	$(LINK_TEST)

# No sanitizer: a server takes it, too.
$(CLOCKWORK): tests/programs/clockwork.c $(BUILD)/flags
	$(CC) $(OWN_CPPFLAGS) -std=c11 $(WARNINGS) -O2 -g -fPIC -shared -o $@ $<

$(BUILD)/bench/ping-shared: tests/bench/ping.c $(ENDS) $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(ENDS) $(HIREDIS_LIBS)

ifeq ($(QUICK),yes)
$(BUILD)/bench/%: tests/bench/%.c $(MUSL_HIREDIS) $(BUILD)/flags
	$(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS) $(QUICK_LDFLAGS) -o $@ $(MUSL)/rcrt1.o $(MUSL)/crti.o $< \
		$(MUSL_HIREDIS) $(MUSL)/crtn.o
else
$(BUILD)/bench/%: tests/bench/%.c $(ENDS) $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(ENDS) $(HIREDIS_LIBS)
endif

# These change when the compiler or a flag does, or a file came or went.
$(BUILD)/flags: export NOW = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)
$(BUILD)/list: export NOW = $(ALL_LDFLAGS) $(ALL_LIBS) $(OBJECTS) quick: $(QUICK) $(QUICK_LDFLAGS) $(POOL_LDFLAGS) $(QUICK_OBJECTS)

$(BUILD)/flags $(BUILD)/list: FORCE
	@mkdir -p $(BUILD)/quick $(BUILD)/unit $(BUILD)/programs $(BUILD)/targets/parts $(BUILD)/bench
	@printf '%s\n' "$$NOW" | cmp -s - $@ || printf '%s\n' "$$NOW" >$@

$(BUILDROOT)/hiredis/lib/libhiredis.a:
	@echo 'There is no hiredis 1.1 or later here. "make deps" gets one (with apt-get, as root or through sudo).' >&2
	@exit 1

# With BUILD=build/fuzz CC=clang SANITIZE=fuzzer-no-link,...: see tests/fuzz/run. The parts stand in for what a fuzzed
# program must not reach: time, sockets, terminals.
FUZZ_PARTS := $(sort $(wildcard tests/fuzz/parts/*.c))
FUZZ_WRAPS = $(shell sed -n 's/.*"__wrap_\(.*\)".*/-Wl,--wrap=\1/p' $(FUZZ_PARTS))

FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/targets/%,$(sort $(wildcard tests/fuzz/*.c)))

fuzz-targets: $(FUZZ_TARGETS)

$(BUILD)/targets/parts/%.o: tests/fuzz/parts/%.c $(BUILD)/flags
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fno-sanitize=fuzzer-no-link -fno-profile-instr-generate \
		-fno-coverage-mapping -c -o $@ $<

$(BUILD)/targets/%: tests/fuzz/%.c $(FUZZ_PARTS:tests/fuzz/%.c=$(BUILD)/targets/%.o) $(PARTS) $(BUILD)/list
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fsanitize=fuzzer $(ALL_LDFLAGS) $(FUZZ_WRAPS) -o $@ $< \
		$(filter %.o,$^) $(ALL_LIBS)

-include $(OBJECTS:.o=.d) $(BUILD)/tls.d $(BUILD)/quick.d $(QUICK_OBJECTS:.o=.d) $(POOL:.o=.d) $(BUILD)/pool.d \
	$(UNITS:=.d) $(PROGRAMS:=.d) \
	$(FUZZ_TARGETS:=.d) $(FUZZ_PARTS:tests/fuzz/%.c=$(BUILD)/targets/%.d) $(BENCHES:=.d)

# Installing

share := $(DESTDIR)$(PREFIX)/share
examples := $(share)/doc/fairlock/examples

install: all
	$(INSTALL) -D -m 755 $(BUILD)/fairlock $(DESTDIR)$(PREFIX)/bin/fairlock
	test $(QUICK) = no || $(INSTALL) -D -m 755 $(FULL) $(DESTDIR)$(PREFIX)/libexec/fairlock-full
	$(INSTALL) -D -m 755 $(BUILD)/fairlock-tls $(DESTDIR)$(PREFIX)/libexec/fairlock-tls
	set -e; for page in $(MANUAL); do \
		$(INSTALL) -D -m 644 man/$$page $(share)/man/man$${page##*.}/$$page; done
	test ! -e completions/fairlock.bash || $(INSTALL) -D -m 644 completions/fairlock.bash \
		$(share)/bash-completion/completions/fairlock
	test ! -e completions/_fairlock || $(INSTALL) -D -m 644 completions/_fairlock \
		$(DESTDIR)$(ZSHDIR)/_fairlock
	test ! -e completions/fairlock.fish || $(INSTALL) -D -m 644 completions/fairlock.fish \
		$(share)/fish/vendor_completions.d/fairlock.fish
	$(INSTALL) -d $(examples)
	$(INSTALL) -m 644 $(EXAMPLES:%=man/examples/%) $(examples)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/fairlock $(DESTDIR)$(PREFIX)/libexec/fairlock-full \
		$(DESTDIR)$(PREFIX)/libexec/fairlock-tls \
		$(foreach page,$(MANUAL),$(share)/man/man$(subst .,,$(suffix $(page)))/$(page)) \
		$(share)/bash-completion/completions/fairlock \
		$(DESTDIR)$(ZSHDIR)/_fairlock \
		$(share)/fish/vendor_completions.d/fairlock.fish \
		$(EXAMPLES:%=$(examples)/%)
	test ! -d $(examples) || rmdir --ignore-fail-on-non-empty $(examples) $(share)/doc/fairlock

# What is installed, as a Debian package (dpkg-deb).
deb:
	.ci/setup build deb
	+MAKE='$(MAKE)' BUILD=$(BUILD) VERSION=$(VERSION) .ci/deb

# Working on it. What set-up brings is seen by a new make only.

deps:
	.ci/setup build

check:
	.ci/setup build run test
	-.ci/servers
	-.ci/promtool
	$(MAKE) check-built

check-built: tests
	BUILD=$(BUILD) tests/run $(TESTS)

# On every server that Debian has; SERVERS='redis@bookworm valkey@sid' for some.
matrix:
	.ci/setup build run test
	-.ci/servers
	-.ci/promtool
	$(MAKE) tests
	BUILD=$(BUILD) .ci/matrix $(SERVERS)

demo:
	.ci/setup build run
	$(MAKE) all
	BUILD=$(BUILD) tests/demo

# What the tests reach. -O0: so that each line is one.
coverage:
	.ci/setup build run test
	$(MAKE) BUILD=$(BUILD)/coverage COVERAGE=yes CFLAGS='-O0 -g -Werror' tests
	BUILD=$(BUILD)/coverage tests/coverage/run $(TESTS)

# No leak, no descriptor left open.
valgrind:
	.ci/setup build run valgrind
	.ci/memcheck
	$(MAKE) BUILD=$(BUILD)/valgrind QUICK=no CFLAGS='-O1 -g' all
	BUILD=$(BUILD)/valgrind tests/run tests/valgrind/*.bats

# With real Redisson beside it.
check-interop:
	.ci/setup build run test
	-.ci/setup interop
	$(MAKE) all
	BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) tests/interop/run

# The protocol and the processes around COMMAND as models, with spin.
check-model:
	.ci/setup model
	BUILD=$(BUILD) tests/model/run

# Random faults, and a checker of the history that they leave.
torture:
	.ci/setup build run torture
	$(MAKE) all $(BUILD)/programs/section $(BUILD)/programs/stalls $(CLOCKWORK)
	BUILD=$(BUILD) tests/torture/run $(DURATION) $(SEED)

# What others write, made up by libFuzzer.
fuzz:
	.ci/setup build fuzz
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined \
		CFLAGS='-O1 -g -fprofile-instr-generate=$(BUILD)/fuzz/default.raw -fcoverage-mapping' fuzz-targets
	BUILD=$(BUILD)/fuzz tests/fuzz/run $(FUZZ)

# With the package in a clean Debian root.
check-deb:
	.ci/setup build run test root
	$(MAKE) deb all
	.ci/deb-root $(BUILD)/fairlock_$(VERSION)-*.deb $(SUITE)
	BUILD=$(BUILD) SUITE=$(SUITE) tests/run tests/deb/*.bats

# Measurements beside other lock tools, in one run: see tests/bench/README.md. It does without those that cannot
# be installed.
bench:
	.ci/setup build run bench
	-.ci/setup peers interop
	-tests/interop/build 4.7.0
	$(MAKE) all $(BENCHES)
	BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) tests/bench/run $(ROUNDS)

lint:
	.ci/setup build lint
	$(MAKE) $(BUILD)/scripts.c $(BUILD)/flags
	BUILD=$(BUILD) .ci/lint

format:
	clang-format -i src/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch]

# Our hiredis, the servers, promtool, valgrind and the Debian root stay: getting them again takes a network.
clean:
	test ! -d $(BUILD) || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name hiredis ! -name servers ! -name promtool \
		! -name memcheck ! -name deb-root -exec rm -rf {} +

distclean:
	rm -rf $(BUILD) $(BUILDROOT)
