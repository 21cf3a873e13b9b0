/* Counts the page faults of a child that writes to memory which fork left shared. */
#include "supervise/prefault.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096
#define DATA_PAGES 64
#define CALLERS_PAGES 8
#define CALLEES_PAGES 5

static volatile char data[DATA_PAGES * PAGE];

static void write_each(volatile char *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pages[i * PAGE]++;
}

static void write_data(volatile char *stack)
{
	(void)stack;
	write_each(data, DATA_PAGES);
}

static __attribute__((noinline)) void write_stack(volatile char *stack)
{
	volatile char callees[CALLEES_PAGES * PAGE];

	write_each(stack, CALLERS_PAGES);
	for (size_t i = 0; i < sizeof(callees); i += PAGE)
		callees[i] = 0;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void do_nothing(void)
{
}

/* Returns how often a child faults in write after it has called prepare. */
static int faults_of_child(void (*prepare)(void), void (*write)(volatile char *))
{
	volatile char stack[CALLERS_PAGES * PAGE] = {0};
	int status = -1;
	pid_t pid;

	write(stack);
	pid = fork();
	if (pid == 0) {
		long before;

		prepare();
		faults(); /* getrusage's own faults do not count */
		before = faults();
		write(stack);
		_exit((int)(faults() - before));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_fetched(struct tally *tally, void (*write)(volatile char *), int pages)
{
	const int without = faults_of_child(do_nothing, write);
	const int with = faults_of_child(prefault, write);

	printf("%d pages: %d faults without, %d with\n", pages, without, with);
	/* sanitizers have pages of their own, which are not fetched */
	CHECK(tally, with >= 0 && without - with >= pages / 2);
}

static bool kernel_can(void)
{
	char pages[2 * PAGE];

	return madvise(pages + PAGE - (unsigned long)pages % PAGE, PAGE, 23) == 0;
}

int main(void)
{
	struct tally tally = {0};

	if (!kernel_can()) {
		prefault();
		CHECK(&tally, faults_of_child(prefault, write_data) >= 0);
		printf("this kernel fetches no pages before they are written to\n");
		return conclude(&tally);
	}
	check_fetched(&tally, write_data, DATA_PAGES);
	check_fetched(&tally, write_stack, CALLERS_PAGES + CALLEES_PAGES);
	return conclude(&tally);
}
