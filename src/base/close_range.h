/* Closes descriptors in bulk, also where the kernel or the C library has no close_range. */
#pragma once

/* Closes all descriptors from first to last. */
void close_descriptors_from(unsigned int first, unsigned int last);
