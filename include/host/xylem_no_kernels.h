/*
 * Code of the device and its launches, which do not run on CPUs. A program may mention these functions; if it
 * calls one, the compiler warns, and the program fails to link: the name that the linker misses says why.
 */
#ifndef XYLEM_HOST_NO_KERNELS_H_
#define XYLEM_HOST_NO_KERNELS_H_

#define XYLEM_NO_KERNELS(NAME)                                                      \
  __asm__("xylem_host_devices_are_CPUs_and_run_no_kernels__" #NAME) __attribute__(( \
      warning(#NAME ": Xylem's host devices are CPUs and run no kernels; this will not link")))

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaLaunchKernel(const void* function, struct dim3 grid, struct dim3 block, void** arguments,
                             size_t sharedBytes, cudaStream_t stream) XYLEM_NO_KERNELS(cudaLaunchKernel);
cudaError_t cudaLaunchCooperativeKernel(const void* function, struct dim3 grid, struct dim3 block,
                                        void** arguments, size_t sharedBytes, cudaStream_t stream)
    XYLEM_NO_KERNELS(cudaLaunchCooperativeKernel);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function)
    XYLEM_NO_KERNELS(cudaFuncGetAttributes);
cudaError_t cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value)
    XYLEM_NO_KERNELS(cudaFuncSetAttribute);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int blockSize,
                                                          size_t sharedBytes)
    XYLEM_NO_KERNELS(cudaOccupancyMaxActiveBlocksPerMultiprocessor);
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t count, size_t offset,
                               enum cudaMemcpyKind kind) XYLEM_NO_KERNELS(cudaMemcpyToSymbol);
cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t count, size_t offset,
                                 enum cudaMemcpyKind kind) XYLEM_NO_KERNELS(cudaMemcpyFromSymbol);
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) XYLEM_NO_KERNELS(cudaGetSymbolAddress);

#ifdef __cplusplus
}
#endif

#endif /* XYLEM_HOST_NO_KERNELS_H_ */
