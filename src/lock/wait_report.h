/* The lines of a waiter without a terminal: --report, and the server's outages. */
#pragma once

#include "lock/wait_state.h"

/* We are queued from now on. */
void wait_report_begin(struct waiting *w);

/* A view has come: tells it if a report is due. */
void wait_report_answer(struct waiting *w);

/* Tells what is due; for a report, it may request a view first. */
void wait_report_due(struct waiting *w);

/* When wait_report_due has something to do. */
int64_t wait_report_wake_ms(const struct waiting *w);
