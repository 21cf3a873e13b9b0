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
make check            the tests; TESTS='tests/commands/wrap.bats' some of them; SERVER=valkey-server with another server
make check-all        also those of recipes and completions, and promtool, which install 13 packages more

make deps             install what a build needs, and build OpenSSL and hiredis: about a minute
make STATIC=no        one dynamic program with the libraries of the system; then make STATIC=no install, make STATIC=no check
make dist             a tarball with manual, completions and licenses, $(BUILD)/dist/fairlock-*.tar.gz
make deb              a Debian package, $(BUILD)/fairlock_*.deb
make rpm              an rpm package, $(BUILD)/fairlock-*.rpm
make check-packages   try all of these in empty roots, Debian ones and containers; or check-dist, -deb, -rpm, -container
make check-interop    with real Redisson, through a JDK and Maven
make check-model      every state of the models, with spin
make mutants          change a line of src/ or lua/, and see a test fail, for each promise; JOBS=4 MUTANTS=renews-late
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

# The tests start thousands of programs. A sanitized one starts in two thirds of the time if gcc links the runtime into it, as
# clang does anyway, and if it is no PIE, which has many addresses to correct.
ifneq ($(SANITIZE),)
STATIC_RUNTIME := -static-libasan -static-libubsan
CHECKING := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -fno-pie
CHECKING_LDFLAGS := -no-pie $(if $(call try,-fsanitize=$(SANITIZE) $(STATIC_RUNTIME)),$(STATIC_RUNTIME))
endif
ifneq ($(COVERAGE),)
# The counters are the file itself, which all processes share: nothing is to be written when one ends. %m: a file for each program.
CHECKING += -fprofile-instr-generate=$(abspath $(BUILD))/profile/%m%c.profraw -fcoverage-mapping \
	-mllvm -runtime-counter-relocation -Wno-unused-command-line-argument
endif

# Programs for tests: built as fairlock is. Unit tests and most programs are linked with all of src/ but main.c.

UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/*.c)))
TEST_PROGRAMS := $(patsubst tests/programs/%.c,$(BUILD)/programs/%, \
	$(sort $(filter-out %/clockwork.c %/ask.c,$(wildcard tests/programs/*.c))))
CLOCKWORK := $(BUILD)/programs/clockwork.so
ASK       := $(BUILD)/programs/ask
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(sort $(wildcard tests/bench/*.c)))
PARTS    := $(filter-out $(BUILD)/main.o,$(OBJECTS))

# Some tests give a program another clock, which only a dynamic one takes.
tests: all dynamic $(UNITS) $(TEST_PROGRAMS) $(CLOCKWORK) $(ASK) $(BENCHES)

dynamic:
	$(if $(filter static,$(MODE)),$(MAKE) STATIC=no BUILD=$(BUILD)/dynamic all,@:)

link_test = $(Q)mkdir -p $(@D) && \
	$(COMPILER) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(if $(filter $(PARTS),$^),$(ALLOCATOR)) -o $@ $< $(filter %.o,$^) $(LIBS)

# It has a malloc of its own behind bump_alloc.
$(BUILD)/unit/bump_alloc: ALLOCATOR :=
$(BUILD)/unit/bump_alloc: $(BUILD)/base/bump_alloc.o

# A rule each: to make 4.4, two patterns in one are two files that one command makes.
$(BUILD)/unit/%: tests/unit/%.c $(PARTS) $(BUILD)/list
	$(call say,LINK $@)
	$(link_test)

$(BUILD)/programs/%: tests/programs/%.c $(PARTS) $(BUILD)/list
	$(call say,LINK $@)
	$(link_test)

# A library that tests preload. No sanitizer: a server takes it, too.
$(CLOCKWORK): $(BUILD)/programs/%.so: tests/programs/%.c $(BUILD)/flags
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D) && $(CC) $(OWN_CPPFLAGS) -std=c11 $(WARNINGS) -O2 -g -fPIC -shared -o $@ $<

# Tests run it all the time: no sanitizer here, either.
$(ASK): tests/programs/ask.c $(BUILD)/flags | $(BUILT)
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D) && $(COMPILER) $(filter-out -MMD -MP,$(ALL_CPPFLAGS)) -std=c11 $(WARNINGS) -O2 -g $(LINKING) -o $@ $< $(LIBS)

# Programs that benchmarks run.
$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/flags | $(BUILT)
	$(call say,LINK $@)
	$(link_test)

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
		$(filter %.o,$^) $(LIBS)

-include $(UNITS:=.d) $(TEST_PROGRAMS:=.d) $(ASK).d $(BENCHES:=.d) \
	$(FUZZ_TARGETS:=.d) $(FUZZ_PARTS:tests/fuzz/%.c=$(BUILD)/targets/%.d)

# What set-up brings is seen by a new make only. Where the libraries of a static program cannot be built, .ci/setup says so, and
# $(again) goes on with STATIC=no.

kind := $(if $(filter static,$(MODE)),build,dynamic)
again = $(MAKE) STATIC=$$(test -e build/deps/static/licenses/SOURCES && echo $(STATIC) || echo no)

deps:
	.ci/setup $(MODE)

demo:
	.ci/setup $(kind) run
	$(again) all
	BUILD=$(BUILD) tests/demo

check:
	.ci/setup $(kind) dynamic run test
	-.ci/servers
	$(again) check-built

check-all: TESTS := $(shell tests/list all)
check-all:
	.ci/setup $(kind) dynamic run test others
	-.ci/servers
	-.ci/tool promtool
	$(again) check-built TESTS='$(TESTS)'

check-built: tests
	BUILD=$(BUILD) tests/run $(TESTS)

# SERVERS='redis@bookworm valkey@sid' for some.
matrix:
	.ci/setup $(kind) dynamic run test others
	-.ci/servers
	-.ci/tool promtool
	$(again) tests
	BUILD=$(BUILD) .ci/matrix $(SERVERS)

# -O0: so that each line is one.
coverage:
	.ci/setup dynamic run test others fuzz
	$(MAKE) BUILD=$(BUILD)/coverage COVERAGE=yes CC=clang CFLAGS='-O0 -g -Werror' tests
	BUILD=$(BUILD)/coverage tests/coverage/run $(TESTS)

valgrind:
	.ci/setup dynamic run valgrind
	.ci/tool valgrind
	$(MAKE) BUILD=$(BUILD)/valgrind STATIC=no CFLAGS='-O1 -g' all
	BUILD=$(BUILD)/valgrind tests/run tests/valgrind/*.bats

check-interop:
	.ci/setup $(kind) run test
	-.ci/setup interop
	$(again) all
	BUILD=$(BUILD) tests/interop/run

check-model:
	.ci/setup model
	BUILD=$(BUILD) tests/model/run

# MUTANTS='renews-late no-margin' for some.
mutants:
	.ci/setup $(kind) dynamic run test
	$(again) mutants-built

mutants-built: tests
	STATIC=$(STATIC) BUILD=$(BUILD) tests/mutants/run $(MUTANTS)

torture:
	.ci/setup $(kind) dynamic run torture
	$(again) all dynamic $(BUILD)/programs/section $(CLOCKWORK)
	BUILD=$(BUILD) tests/torture/run $(DURATION) $(SEED)

fuzz:
	.ci/setup dynamic run fuzz
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined \
		CFLAGS='-O1 -g -fprofile-instr-generate=$(BUILD)/fuzz/default.raw -fcoverage-mapping' fuzz-targets
	BUILD=$(BUILD)/fuzz tests/fuzz/run $(FUZZ)

# A package holds the one static program.
packed:
	.ci/setup static $(filter deb rpm,$(MAKECMDGOALS))
	$(MAKE) STATIC=yes all

dist deb rpm: packed
	+MAKE='$(MAKE)' BUILD=$(BUILD) VERSION=$(VERSION) .ci/$@

# All of them use the Debian root.
check-packages: PACKAGES := dist deb rpm container
check-dist check-deb check-rpm check-container: PACKAGES = $(@:check-%=%)
check-packages check-dist check-deb check-rpm check-container:
	.ci/setup static dynamic run test root $(filter container,$(PACKAGES))
	$(MAKE) deb $(filter dist rpm,$(PACKAGES)) $(ASK)
	.ci/deb-root $(BUILD)/fairlock_$(VERSION)-*.deb $(SUITE)
	BUILD=$(BUILD) SUITE=$(SUITE) tests/run $(PACKAGES:%=tests/%/*.bats)

# It does without those tools that cannot be installed: see tests/bench/README.md.
bench:
	.ci/setup $(kind) run bench
	-.ci/setup peers interop
	-tests/interop/build 4.7.0
	$(again) all $(BENCHES)
	BUILD=$(BUILD) tests/bench/run $(ROUNDS)

# "make check" tells when their words are no longer what the program says.
pictures:
	.ci/setup $(kind) run test
	$(again) all $(CLOCKWORK)
	BUILD=$(BUILD) tests/pictures/run

html:
	.ci/setup html
	man/html $(BUILD)/html

lint:
	.ci/setup dynamic lint
	$(MAKE) STATIC=no BUILD=$(BUILD)/dynamic $(BUILD)/dynamic/scripts.c $(BUILD)/dynamic/flags
	BUILD=$(BUILD)/dynamic .ci/lint

format:
	find src tests -name '*.[ch]' -exec clang-format -i {} +

# The libraries of others, the servers, promtool, valgrind and the Debian root stay: getting them again takes a network.
clean:
	test ! -d $(BUILD) || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name deps ! -name servers ! -name promtool \
		! -name memcheck ! -name deb-root -exec rm -rf {} +

distclean:
	rm -rf $(BUILD) build

.PHONY: help tests dynamic packed dist deb rpm deps check check-all check-built check-dist check-deb check-rpm \
	check-container check-packages check-interop check-model matrix mutants mutants-built torture fuzz fuzz-targets \
	coverage valgrind bench demo pictures html lint format clean distclean
