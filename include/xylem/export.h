#pragma once
// Marks what the shared libraries export; everything else is built with hidden visibility.
#define XYLEM_EXPORT __attribute__((visibility("default")))
