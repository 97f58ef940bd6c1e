/* The header under its name before NVTX 3. */
#include "nvtx3/nvToolsExtCuda.h"
