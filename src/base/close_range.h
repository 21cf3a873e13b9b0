#ifndef FAIRLOCK_CLOSE_RANGE_H
#define FAIRLOCK_CLOSE_RANGE_H

/* Closes all descriptors from first to last, open or not. */
void close_descriptors_from(unsigned int first, unsigned int last);

#endif
