#pragma once

/* Gives the calling process its own copy of the pages that it will write to: static data, and the
 * stack around the caller. After a fork the kernel copies such a page when it is first written to;
 * that takes 2 to 8 us for each, and a process that stands by has more time for it than one whose
 * lock was just granted. Before Linux 5.14 this does nothing. */
void prefault(void);
