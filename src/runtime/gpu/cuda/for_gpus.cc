// Linked into libnccl.so.2 for programs on GPUs (as-nccl-gpu), and nowhere else: there the device is a GPU.

extern "C" {
__attribute__((visibility("hidden"))) extern const char xylemIsForGpus;
const char xylemIsForGpus = 1;
}
