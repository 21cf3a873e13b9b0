# The developers' half of the Makefile: tests, measurements, checks. A target that needs a package installs it
# (.ci/setup says what), except "tests" and "fuzz-targets", which only build.

TESTS    ?=
DURATION ?= 60s
SEED     ?=

define HELP
make                  build $(BUILD)/fairlock; installs nothing (V=1: show the commands)
make install          PREFIX=/usr/local DESTDIR=
make uninstall
make demo             three jobs that want one lock
make check            all tests; TESTS='tests/commands/wrap.bats' some of them; SERVER=valkey-server with another server

make deps             install what a build needs
make static           one program that needs no library, $(BUILD)/static/fairlock
make dist             a tarball of it with manual, completions and licenses, $(BUILD)/dist/fairlock-*.tar.gz
make deb              a Debian package, $(BUILD)/fairlock_*.deb; make check-deb tries it in a clean Debian root
make rpm              an rpm package, $(BUILD)/fairlock-*.rpm; make check-rpm installs it into an empty root and a Debian one
make check-container  builds images, and runs fairlock in containers; make check-packages: deb and rpm, too
make check-static     the tests of names, tables and TLS with the one program; the tarball in an empty root
make check-interop    with real Redisson, through a JDK and Maven
make check-model      every state of the models, with spin
make torture          random faults and a checker; DURATION=1h SEED=N
make fuzz             everything that reads what others wrote, with libFuzzer; the scripts; FUZZ=url FUZZ_SECONDS=60
make matrix           all tests on every Redis and Valkey that Debian has; takes an hour
make coverage         the lines and branches that the tests reach, of src/ and lua/
make valgrind         no leak, no descriptor left open
make bench            measure fairlock beside other lock tools; ROUNDS=300
make pictures         the pictures of README and manual anew, from the real program: man/pictures/*.svg
make html             the manual for a browser: $(BUILD)/html/index.html

make lint             form, likely mistakes, the layers; make format puts C into form
make clean            make distclean removes what was fetched, too

make BUILD=build/asan SANITIZE=address,undefined     a build of another kind
endef
export HELP

help:
	@printf '%s\n' "$$HELP"

# Programs for tests. Unit tests and most programs are linked with all of src/ but main.c.

UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/*.c)))
TEST_PROGRAMS := $(patsubst tests/programs/%.c,$(BUILD)/programs/%, \
	$(sort $(filter-out %/clockwork.c %/ask.c,$(wildcard tests/programs/*.c))))
CLOCKWORK := $(BUILD)/programs/clockwork.so
ASK       := $(BUILD)/programs/ask
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(sort $(wildcard tests/bench/*.c))) $(BUILD)/bench/ping-shared
PARTS    := $(filter-out $(BUILD)/main.o,$(OBJECTS))

tests: $(PROGRAMS) $(UNITS) $(TEST_PROGRAMS) $(CLOCKWORK) $(ASK) $(BENCHES)

link_test = $(Q)mkdir -p $(@D) && \
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(PARTS) $(MORE_PARTS) $(ALL_LIBS)

$(BUILD)/unit/bump_alloc: MORE_PARTS := $(BUILD)/base/bump_alloc.o
$(BUILD)/unit/bump_alloc: $(BUILD)/base/bump_alloc.o

# A rule each: to make 4.4, two patterns in one are two files that one command makes.
$(BUILD)/unit/%: tests/unit/%.c $(PARTS) $(BUILD)/list
	$(call say,LINK $@)
	$(link_test)

$(BUILD)/programs/%: tests/programs/%.c $(PARTS) $(BUILD)/list
	$(call say,LINK $@)
	$(link_test)

# A library that tests preload. No sanitizer: a server takes it, too.
$(CLOCKWORK): tests/programs/clockwork.c $(BUILD)/flags
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D) && $(CC) $(OWN_CPPFLAGS) -std=c11 $(WARNINGS) -O2 -g -fPIC -shared -o $@ $<

# Tests run it all the time: no sanitizer here, either.
$(ASK): tests/programs/ask.c $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D) && $(CC) $(OWN_CPPFLAGS) $(HIREDIS_CFLAGS:-I%=-isystem %) -std=c11 $(WARNINGS) -O2 -g -o $@ $< \
		$(HIREDIS_LIBS)

# Programs that benchmarks run, built as fairlock is.
link_shared = $(Q)mkdir -p $(@D) && \
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(ENDS) $(HIREDIS_LIBS)

$(BUILD)/bench/ping-shared: tests/bench/ping.c $(ENDS) $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(call say,LINK $@)
	$(link_shared)

ifeq ($(QUICK),yes)
$(BUILD)/bench/%: tests/bench/%.c $(MUSL_HIREDIS) $(BUILD)/flags
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D) && $(MUSL_CC) $(QUICK_CPPFLAGS) $(QUICK_CFLAGS) $(QUICK_LDFLAGS) -o $@ \
		$(MUSL)/rcrt1.o $(MUSL)/crti.o $< $(MUSL_HIREDIS) $(MUSL)/crtn.o
else
$(BUILD)/bench/%: tests/bench/%.c $(ENDS) $(BUILD)/flags | $(HIREDIS_ARCHIVE)
	$(call say,LINK $@)
	$(link_shared)
endif

# With COVERAGE=yes. That a process ends is not to be counted.
$(BUILD)/tests/ends.o: tests/coverage/ends.c $(BUILD)/flags
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CPPFLAGS) $(filter-out --coverage,$(ALL_CFLAGS)) -c -o $@ $<

# With BUILD=build/fuzz CC=clang SANITIZE=fuzzer-no-link,...: see tests/fuzz/run. The parts stand in for what a fuzzed
# program must not reach: time, sockets, terminals.

FUZZ_PARTS := $(sort $(wildcard tests/fuzz/parts/*.c))
FUZZ_WRAPS = $(shell sed -n 's/.*"__wrap_\(.*\)".*/-Wl,--wrap=\1/p' $(FUZZ_PARTS))
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/targets/%,$(sort $(wildcard tests/fuzz/*.c)))

fuzz-targets: $(FUZZ_TARGETS)

$(BUILD)/targets/parts/%.o: tests/fuzz/parts/%.c $(BUILD)/flags
	$(call say,CC $<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fno-sanitize=fuzzer-no-link \
		-fno-profile-instr-generate -fno-coverage-mapping -c -o $@ $<

$(BUILD)/targets/%: tests/fuzz/%.c $(FUZZ_PARTS:tests/fuzz/%.c=$(BUILD)/targets/%.o) $(PARTS) $(BUILD)/list
	$(call say,LINK $@)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fsanitize=fuzzer $(ALL_LDFLAGS) $(FUZZ_WRAPS) -o $@ $< \
		$(filter %.o,$^) $(ALL_LIBS)

-include $(BUILD)/base/bump_alloc.d $(UNITS:=.d) $(TEST_PROGRAMS:=.d) $(ASK).d $(BENCHES:=.d) \
	$(FUZZ_TARGETS:=.d) $(FUZZ_PARTS:tests/fuzz/%.c=$(BUILD)/targets/%.d)

# What set-up brings is seen by a new make only.

deps:
	.ci/setup build

demo:
	.ci/setup build run
	$(MAKE) all
	BUILD=$(BUILD) tests/demo

check:
	.ci/setup build run test
	-.ci/servers
	-.ci/promtool
	$(MAKE) check-built

check-built: tests
	BUILD=$(BUILD) tests/run $(TESTS)

# SERVERS='redis@bookworm valkey@sid' for some.
matrix:
	.ci/setup build run test
	-.ci/servers
	-.ci/promtool
	$(MAKE) tests
	BUILD=$(BUILD) .ci/matrix $(SERVERS)

# -O0: so that each line is one.
coverage:
	.ci/setup build run test
	$(MAKE) BUILD=$(BUILD)/coverage COVERAGE=yes CFLAGS='-O0 -g -Werror' tests
	BUILD=$(BUILD)/coverage tests/coverage/run $(TESTS)

valgrind:
	.ci/setup build run valgrind
	.ci/memcheck
	$(MAKE) BUILD=$(BUILD)/valgrind QUICK=no CFLAGS='-O1 -g' all
	BUILD=$(BUILD)/valgrind tests/run tests/valgrind/*.bats

check-interop:
	.ci/setup build run test
	-.ci/setup interop
	$(MAKE) all
	BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) tests/interop/run

check-model:
	.ci/setup model
	BUILD=$(BUILD) tests/model/run

torture:
	.ci/setup build run torture
	$(MAKE) all $(BUILD)/programs/section $(BUILD)/programs/stalls $(CLOCKWORK)
	BUILD=$(BUILD) tests/torture/run $(DURATION) $(SEED)

fuzz:
	.ci/setup build run fuzz
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined \
		CFLAGS='-O1 -g -fprofile-instr-generate=$(BUILD)/fuzz/default.raw -fcoverage-mapping' fuzz-targets
	BUILD=$(BUILD)/fuzz tests/fuzz/run $(FUZZ)

static:
	.ci/setup static
	$(MAKE) BUILD=$(BUILD)/static QUICK=one all

dist: static
	+MAKE='$(MAKE)' BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) VERSION=$(VERSION) .ci/dist

deb:
	.ci/setup build deb
	+MAKE='$(MAKE)' BUILD=$(BUILD) VERSION=$(VERSION) .ci/deb

rpm: static
	.ci/setup rpm
	+MAKE='$(MAKE)' BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) VERSION=$(VERSION) .ci/rpm

# What differs from the three programs: names, tables, TLS. The rest is the same code with the same C library.
STATIC_TESTS := $(filter-out %/doctor-access.bats,$(wildcard $(addsuffix .bats,$(addprefix tests/, \
	commands/completion* commands/doctor* commands/getent commands/help commands/log* commands/names commands/prometheus \
	commands/queue commands/quick commands/settings commands/status* commands/tables commands/usage \
	servers/local servers/passwords servers/seeds servers/tls* terminal/* static/*))))

check-static:
	.ci/setup build run test static
	$(MAKE) dist
	$(MAKE) BUILD=$(BUILD)/static QUICK=one tests
	BUILD=$(BUILD)/static tests/run $(or $(TESTS),$(STATIC_TESTS))

# All of them use the Debian root.
check-packages: PACKAGES := deb rpm container
check-deb check-rpm check-container: PACKAGES = $(@:check-%=%)
check-packages check-deb check-rpm check-container:
	.ci/setup build run test root $(if $(filter container,$(PACKAGES)),container static)
	$(MAKE) deb $(filter rpm,$(PACKAGES)) all
	.ci/deb-root $(BUILD)/fairlock_$(VERSION)-*.deb $(SUITE)
	BUILD=$(BUILD) SUITE=$(SUITE) tests/run $(PACKAGES:%=tests/%/*.bats)

# It does without those tools that cannot be installed: see tests/bench/README.md.
bench:
	.ci/setup build run bench
	-.ci/setup peers interop
	-tests/interop/build 4.7.0
	$(MAKE) all $(BENCHES)
	BUILD=$(BUILD) BUILDROOT=$(BUILDROOT) tests/bench/run $(ROUNDS)

# "make check" tells when their words are no longer what the program says.
pictures:
	.ci/setup build run test
	$(MAKE) all $(CLOCKWORK)
	BUILD=$(BUILD) tests/pictures/run

html:
	.ci/setup html
	man/html $(BUILD)/html

lint:
	.ci/setup build lint
	$(MAKE) $(BUILD)/scripts.c $(BUILD)/flags
	BUILD=$(BUILD) .ci/lint

format:
	find src tests -name '*.[ch]' -exec clang-format -i {} +

# The libraries of others, the servers, promtool, valgrind and the Debian root stay: getting them again takes a network.
clean:
	test ! -d $(BUILD) || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name hiredis ! -name servers ! -name promtool \
		! -name memcheck ! -name deb-root ! -name static-libraries -exec rm -rf {} +

distclean:
	rm -rf $(BUILD) $(BUILDROOT)

.PHONY: help tests static dist deb rpm deps check check-built check-static check-deb check-rpm check-container \
	check-packages check-interop check-model matrix torture fuzz fuzz-targets coverage valgrind bench demo pictures \
	html lint format clean distclean
