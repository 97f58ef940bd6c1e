/* For the NCCL examples: ends the program with the error of a call that fails, or that devices are missing. Include it after
 * cuda_runtime.h. */
#ifndef XYLEM_EXAMPLES_CHECK_H_
#define XYLEM_EXAMPLES_CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#define CUDACHECK(CALL)                                                              \
  do {                                                                               \
    cudaError_t error = (CALL);                                                      \
    if (error != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

#define NCCLCHECK(CALL)                                                                  \
  do {                                                                                   \
    ncclResult_t result = (CALL);                                                        \
    if (result != ncclSuccess) {                                                         \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, ncclGetErrorString(result), \
              ncclGetLastError(NULL));                                                   \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

/* Ends the program unless all of `count` elements at the device's `data` are `expected`. */
#define EXPECT_ALL(DATA, COUNT, EXPECTED)                                                       \
  do {                                                                                          \
    float* onHost = (float*)malloc((COUNT) * sizeof(float));                                    \
    CUDACHECK(cudaMemcpy(onHost, (DATA), (COUNT) * sizeof(float), cudaMemcpyDeviceToHost));     \
    for (size_t element = 0; element < (COUNT); ++element)                                      \
      if (onHost[element] != (EXPECTED)) {                                                      \
        fprintf(stderr, "%s:%d: element %zu is %g; expected %g\n", __FILE__, __LINE__, element, \
                (double)onHost[element], (double)(EXPECTED));                                   \
        exit(1);                                                                                \
      }                                                                                         \
    free(onHost);                                                                               \
  } while (0)

/* Ends the program unless there are `wanted` devices. */
static inline void requireDevices(int wanted) {
  int devices = 0;
  CUDACHECK(cudaGetDeviceCount(&devices));
  if (devices >= wanted) return;
  fprintf(stderr,
          "this example needs %d devices, and there are %d: set XYLEM_HOST_DEVICES=%d for host devices "
          "that share the machine's cores\n",
          wanted, devices, wanted);
  exit(1);
}

#endif /* XYLEM_EXAMPLES_CHECK_H_ */
