#pragma once

/* Closes all descriptors from first to last, open or not. */
void close_descriptors_from(unsigned int first, unsigned int last);
