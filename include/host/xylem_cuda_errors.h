/*
 * The errors of the CUDA runtime: name, number and what it means here, once for the enumeration in
 * driver_types.h and once for cudaGetErrorName and cudaGetErrorString.
 */
#ifndef XYLEM_HOST_CUDA_ERRORS_H_
#define XYLEM_HOST_CUDA_ERRORS_H_

/* Host devices return few of them; the others are there for programs that name them. */
/* clang-format off */
#define XYLEM_CUDA_ERRORS(ERROR) \
  ERROR(cudaSuccess, 0, "no error") \
  ERROR(cudaErrorInvalidValue, 1, "an argument cannot be used") \
  ERROR(cudaErrorMemoryAllocation, 2, "not enough memory") \
  ERROR(cudaErrorInitializationError, 3, "the device could not be set up") \
  ERROR(cudaErrorCudartUnloading, 4, "the process is ending") \
  ERROR(cudaErrorProfilerDisabled, 5, "there is no profiler") \
  ERROR(cudaErrorProfilerNotInitialized, 6, "the profiler was not set up") \
  ERROR(cudaErrorProfilerAlreadyStarted, 7, "the profiler runs already") \
  ERROR(cudaErrorProfilerAlreadyStopped, 8, "the profiler does not run") \
  ERROR(cudaErrorInvalidConfiguration, 9, "a launch has a shape that cannot be") \
  ERROR(cudaErrorInvalidPitchValue, 12, "rows are farther apart, or nearer, than they can be") \
  ERROR(cudaErrorInvalidSymbol, 13, "there is no variable of that name on the device") \
  ERROR(cudaErrorInvalidHostPointer, 16, "not memory of the host") \
  ERROR(cudaErrorInvalidDevicePointer, 17, "not memory of a device") \
  ERROR(cudaErrorInvalidTexture, 18, "not a texture") \
  ERROR(cudaErrorInvalidTextureBinding, 19, "the texture is bound to nothing") \
  ERROR(cudaErrorInvalidChannelDescriptor, 20, "there is no such format of a channel") \
  ERROR(cudaErrorInvalidMemcpyDirection, 21, "there is no such direction of a copy") \
  ERROR(cudaErrorAddressOfConstant, 22, "constants have no address") \
  ERROR(cudaErrorTextureFetchFailed, 23, "a texture could not be read") \
  ERROR(cudaErrorTextureNotBound, 24, "the texture is not bound") \
  ERROR(cudaErrorSynchronizationError, 25, "waiting failed") \
  ERROR(cudaErrorInvalidFilterSetting, 26, "the texture cannot be filtered like that") \
  ERROR(cudaErrorInvalidNormSetting, 27, "the texture cannot be normalized like that") \
  ERROR(cudaErrorMixedDeviceExecution, 28, "code of the device and of its emulation was mixed") \
  ERROR(cudaErrorNotYetImplemented, 31, "this part is not there yet") \
  ERROR(cudaErrorMemoryValueTooLarge, 32, "a pointer is too large for the device") \
  ERROR(cudaErrorStubLibrary, 34, "the library is a stand-in without content") \
  ERROR(cudaErrorInsufficientDriver, 35, "the driver is older than the runtime") \
  ERROR(cudaErrorCallRequiresNewerDriver, 36, "the driver is too old for this call") \
  ERROR(cudaErrorInvalidSurface, 37, "not a surface") \
  ERROR(cudaErrorDuplicateVariableName, 43, "two variables of the device share a name") \
  ERROR(cudaErrorDuplicateTextureName, 44, "two textures share a name") \
  ERROR(cudaErrorDuplicateSurfaceName, 45, "two surfaces share a name") \
  ERROR(cudaErrorDevicesUnavailable, 46, "all devices are taken") \
  ERROR(cudaErrorIncompatibleDriverContext, 49, "the driver's context cannot be used here") \
  ERROR(cudaErrorMissingConfiguration, 52, "a launch has no shape") \
  ERROR(cudaErrorPriorLaunchFailure, 53, "an earlier launch failed") \
  ERROR(cudaErrorLaunchMaxDepthExceeded, 65, "launches are nested too deeply") \
  ERROR(cudaErrorLaunchFileScopedTex, 66, "a nested launch uses a texture of a file") \
  ERROR(cudaErrorLaunchFileScopedSurf, 67, "a nested launch uses a surface of a file") \
  ERROR(cudaErrorSyncDepthExceeded, 68, "waiting is nested too deeply") \
  ERROR(cudaErrorLaunchPendingCountExceeded, 69, "too many launches are under way") \
  ERROR(cudaErrorInvalidDeviceFunction, 98, "not a function of this device") \
  ERROR(cudaErrorNoDevice, 100, "there is no device") \
  ERROR(cudaErrorInvalidDevice, 101, "there is no device of that number; XYLEM_HOST_DEVICES says how many there are") \
  ERROR(cudaErrorDeviceNotLicensed, 102, "the device has no licence") \
  ERROR(cudaErrorSoftwareValidityNotEstablished, 103, "the software could not be shown to be valid") \
  ERROR(cudaErrorStartupFailure, 127, "the runtime could not start") \
  ERROR(cudaErrorInvalidKernelImage, 200, "not code for a device") \
  ERROR(cudaErrorDeviceUninitialized, 201, "not in the process that this comes from: the pointer is valid there as it is") \
  ERROR(cudaErrorMapBufferObjectFailed, 205, "memory of another process could not be mapped") \
  ERROR(cudaErrorUnmapBufferObjectFailed, 206, "memory of another process could not be unmapped") \
  ERROR(cudaErrorArrayIsMapped, 207, "the array is mapped") \
  ERROR(cudaErrorAlreadyMapped, 208, "it is mapped already") \
  ERROR(cudaErrorNoKernelImageForDevice, 209, "there is no code for this device") \
  ERROR(cudaErrorAlreadyAcquired, 210, "it was acquired already") \
  ERROR(cudaErrorNotMapped, 211, "it is not mapped") \
  ERROR(cudaErrorNotMappedAsArray, 212, "it is not mapped as an array") \
  ERROR(cudaErrorNotMappedAsPointer, 213, "it is not mapped as a pointer") \
  ERROR(cudaErrorECCUncorrectable, 214, "memory has an error that could not be corrected") \
  ERROR(cudaErrorUnsupportedLimit, 215, "the device knows no such limit") \
  ERROR(cudaErrorDeviceAlreadyInUse, 216, "the device is used by another thread") \
  ERROR(cudaErrorPeerAccessUnsupported, 217, "one device cannot reach the other") \
  ERROR(cudaErrorInvalidPtx, 218, "code could not be compiled for the device") \
  ERROR(cudaErrorInvalidGraphicsContext, 219, "not a context of graphics") \
  ERROR(cudaErrorNvlinkUncorrectable, 220, "a link has an error that could not be corrected") \
  ERROR(cudaErrorJitCompilerNotFound, 221, "there is no compiler for the device") \
  ERROR(cudaErrorUnsupportedPtxVersion, 222, "code is of a version that is not known") \
  ERROR(cudaErrorJitCompilationDisabled, 223, "compiling for the device is switched off") \
  ERROR(cudaErrorUnsupportedExecAffinity, 224, "the device cannot be divided like that") \
  ERROR(cudaErrorUnsupportedDevSideSync, 225, "code of the device cannot wait for its device") \
  ERROR(cudaErrorContained, 226, "an error was kept from spreading") \
  ERROR(cudaErrorInvalidSource, 300, "not a source for the device") \
  ERROR(cudaErrorFileNotFound, 301, "there is no such file") \
  ERROR(cudaErrorSharedObjectSymbolNotFound, 302, "a library does not have a name that is needed") \
  ERROR(cudaErrorSharedObjectInitFailed, 303, "a library could not be set up") \
  ERROR(cudaErrorOperatingSystem, 304, "a call to the operating system failed") \
  ERROR(cudaErrorInvalidResourceHandle, 400, "not a stream, event or graph, or one that was destroyed") \
  ERROR(cudaErrorIllegalState, 401, "not in the state for this call") \
  ERROR(cudaErrorLossyQuery, 402, "the answer would not be complete") \
  ERROR(cudaErrorSymbolNotFound, 500, "there is nothing of that name") \
  ERROR(cudaErrorNotReady, 600, "work is still under way") \
  ERROR(cudaErrorIllegalAddress, 700, "work used memory that is not there") \
  ERROR(cudaErrorLaunchOutOfResources, 701, "the device does not have what a launch needs") \
  ERROR(cudaErrorLaunchTimeout, 702, "work took too long") \
  ERROR(cudaErrorLaunchIncompatibleTexturing, 703, "a launch uses textures in another way") \
  ERROR(cudaErrorPeerAccessAlreadyEnabled, 704, "the device can be reached already") \
  ERROR(cudaErrorPeerAccessNotEnabled, 705, "the device was not made reachable") \
  ERROR(cudaErrorSetOnActiveProcess, 708, "too late: the device is in use") \
  ERROR(cudaErrorContextIsDestroyed, 709, "the context was destroyed") \
  ERROR(cudaErrorAssert, 710, "an assertion of the device failed") \
  ERROR(cudaErrorTooManyPeers, 711, "no more devices can be made reachable") \
  ERROR(cudaErrorHostMemoryAlreadyRegistered, 712, "the memory is registered already") \
  ERROR(cudaErrorHostMemoryNotRegistered, 713, "the memory is not registered") \
  ERROR(cudaErrorHardwareStackError, 714, "the stack of the device broke") \
  ERROR(cudaErrorIllegalInstruction, 715, "the device does not know an instruction") \
  ERROR(cudaErrorMisalignedAddress, 716, "work used an address that is not aligned") \
  ERROR(cudaErrorInvalidAddressSpace, 717, "an instruction is not for that kind of memory") \
  ERROR(cudaErrorInvalidPc, 718, "work went on where there is no code") \
  ERROR(cudaErrorLaunchFailure, 719, "work failed while it was running; ncclGetLastError has the text for collectives") \
  ERROR(cudaErrorCooperativeLaunchTooLarge, 720, "a launch has more blocks than can run at once") \
  ERROR(cudaErrorTensorMemoryLeak, 721, "work did not give back its tensor memory") \
  ERROR(cudaErrorNotPermitted, 800, "not permitted") \
  ERROR(cudaErrorNotSupported, 801, "host devices cannot do this") \
  ERROR(cudaErrorSystemNotReady, 802, "the system is not ready") \
  ERROR(cudaErrorSystemDriverMismatch, 803, "drivers do not fit together") \
  ERROR(cudaErrorCompatNotSupportedOnDevice, 804, "the device does not support compatibility mode") \
  ERROR(cudaErrorMpsConnectionFailed, 805, "the server of shared devices could not be reached") \
  ERROR(cudaErrorMpsRpcFailure, 806, "the server of shared devices did not answer as it should") \
  ERROR(cudaErrorMpsServerNotReady, 807, "the server of shared devices is not ready") \
  ERROR(cudaErrorMpsMaxClientsReached, 808, "the server of shared devices takes no more clients") \
  ERROR(cudaErrorMpsMaxConnectionsReached, 809, "the server of shared devices takes no more connections") \
  ERROR(cudaErrorMpsClientTerminated, 810, "the server of shared devices ended this client") \
  ERROR(cudaErrorCdpNotSupported, 811, "work cannot launch work") \
  ERROR(cudaErrorCdpVersionMismatch, 812, "work of another version cannot launch work") \
  ERROR(cudaErrorStreamCaptureUnsupported, 900, "not while a stream is captured; the capture is lost") \
  ERROR(cudaErrorStreamCaptureInvalidated, 901, "the capture was lost by an earlier error") \
  ERROR(cudaErrorStreamCaptureMerge, 902, "two captures would have become one; both are lost") \
  ERROR(cudaErrorStreamCaptureUnmatched, 903, "the capture began in another stream") \
  ERROR(cudaErrorStreamCaptureUnjoined, 904, "the stream where the capture began did not wait for all that was captured") \
  ERROR(cudaErrorStreamCaptureIsolation, 905, "what is captured would depend on work that is not; the capture is lost") \
  ERROR(cudaErrorStreamCaptureImplicit, 906, "the default stream would have waited for what is captured; the capture is lost") \
  ERROR(cudaErrorCapturedEvent, 907, "the event was recorded while captured, so that nothing reaches it") \
  ERROR(cudaErrorStreamCaptureWrongThread, 908, "the capture was begun by another thread") \
  ERROR(cudaErrorTimeout, 909, "waiting took too long") \
  ERROR(cudaErrorGraphExecUpdateFailure, 910, "the graph is too different from the one that was instantiated") \
  ERROR(cudaErrorExternalDevice, 911, "another device failed") \
  ERROR(cudaErrorInvalidClusterSize, 912, "there is no cluster of that size") \
  ERROR(cudaErrorFunctionNotLoaded, 913, "the function was not loaded") \
  ERROR(cudaErrorInvalidResourceType, 914, "not a kind of resource for this call") \
  ERROR(cudaErrorInvalidResourceConfiguration, 915, "resources cannot be put together like that") \
  ERROR(cudaErrorUnknown, 999, "unknown error")
/* clang-format on */

#endif /* XYLEM_HOST_CUDA_ERRORS_H_ */
