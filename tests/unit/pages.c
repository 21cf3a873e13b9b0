/* Counted are the faults of a child that writes to what fork left shared. */
#include "pages.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096
#define DATA_PAGES 64
#define STACK_PAGES 8 /* 4 of callers, 4 of callees */

static volatile char data[DATA_PAGES * PAGE];

static void write_each(volatile char *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pages[i * PAGE]++;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static __attribute__((noinline)) void call(void)
{
	volatile char pages[STACK_PAGES / 2 * PAGE] = {0};

	write_each(pages, STACK_PAGES / 2);
}

/* How many pages a child of ours had to fault in. */
static int faults_of_child(void (*prepare)(void))
{
	volatile char pages[STACK_PAGES / 2 * PAGE] = {0};
	int status = -1;
	pid_t pid;

	write_each(data, DATA_PAGES);
	write_each(pages, STACK_PAGES / 2);
	call();
	pid = fork();
	if (pid == 0) {
		long before;

		prepare();
		before = faults();
		write_each(data, DATA_PAGES);
		write_each(pages, STACK_PAGES / 2);
		call();
		_exit((int)(faults() - before));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void do_nothing(void)
{
}

static bool kernel_can(void)
{
	char page[2 * PAGE];

	return madvise(page + PAGE - (unsigned long)page % PAGE, PAGE, 23) == 0;
}

int main(void)
{
	struct tally tally = {0};
	const int without = faults_of_child(do_nothing), with = faults_of_child(pages_fetch);

	CHECK(&tally, without >= DATA_PAGES + STACK_PAGES);
	CHECK(&tally, with >= 0 && with < (kernel_can() ? 8 : without + 8));
	printf("%d faults without, %d with\n", without, with);
	return conclude(&tally);
}
