/* Copies the pages that a forked process will write to, static data and the stack around the
 * caller. The kernel would do so at each first write, 2 to 8 us a page. A process that stands by
 * has that time; one whose lock was just granted has not. */
#pragma once

/* Does nothing before Linux 5.14. */
void prefault(void);
