// The table of every variable that the planner and the runtime honour, one row each:
//   X(enumerator, variable, kind, minimum, maximum, default, help)
// Kinds: kInteger (C syntax: 10, 0x10, 010), kText, kPath, kLevel (a path type such as PXB, or NCCL's old
// digits), kList (comma-separated), kSecret (text that is not shown). The range holds for integers. "-2" is
// NCCL's "not set" for tri-state variables. No include guard: settings.h and settings.cc each expand it
// their own way.
// clang-format off: it would break strings

// The version of NCCL whose rules the planner follows.
X(kNccl, "XYLEM_NCCL", kText, 0, 0, "2.30.7", "the version of NCCL that is planned for, such as 2.27.7")

// Topology and the devices that are read from it.
X(kTopoFile, "NCCL_TOPO_FILE", kPath, 0, 0, "", "topology XML to load before detecting the rest")
X(kTopoDumpFile, "NCCL_TOPO_DUMP_FILE", kPath, 0, 0, "", "write the detected topology XML here")
X(kTopoDumpFileRank, "NCCL_TOPO_DUMP_FILE_RANK", kInteger, 0, 1 << 30, "0", "the rank that writes it")
X(kHostId, "NCCL_HOSTID", kText, 0, 0, "", "text that identifies this host in place of its name and boot id")
X(kIbDisable, "NCCL_IB_DISABLE", kInteger, 0, 1, "0", "1: no RDMA devices; interfaces are used instead")
X(kIbHca, "NCCL_IB_HCA", kList, 0, 0, "",
  "RDMA devices to use: prefixes, =exact[:port[:rail[:plane]]], ^excluded")
X(kIbDevicePciOrder, "NCCL_IB_DEVICE_PCI_ORDER", kInteger, 0, 1, "1",
  "0: network cards count as the kernel found them, not by PCI bus id (from 2.29 on)")
X(kIbMergeVfs, "NCCL_IB_MERGE_VFS", kInteger, 0, 1, "1",
  "1: RDMA devices of one PCI bus are virtual functions of one card")
X(kIbMergeNics, "NCCL_IB_MERGE_NICS", kInteger, 0, 1, "1",
  "0: RDMA devices cannot be merged into virtual ones; before 2.26 a job that tries to fails")
X(kIbDataDirect, "NCCL_IB_DATA_DIRECT", kInteger, 0, 2, "1",
  "1: a card with a data-direct PCI device is described there alone; 2: at both places; 0: at its own (from 2.27 on)")
X(kIbQueryPortSpeed, "NCCL_IB_QUERY_PORT_SPEED", kInteger, 0, 1, "1",
  "0: the speed of an RDMA port is its nominal one, not what the verbs library tells (from 2.30 on)")
X(kNetMergeLevel, "NCCL_NET_MERGE_LEVEL", kText, 0, 0, "PORT",
  "ports this near become one virtual network device (LOC: none, PORT, PIX, PXB, PXN, PHB, SYS)")
X(kNetForceMerge, "NCCL_NET_FORCE_MERGE", kText, 0, 0, "",
  "network devices to make one of, as mlx5_0,mlx5_1;mlx5_2,mlx5_3")
X(kMultiRankGpu, "NCCL_MULTI_RANK_GPU_ENABLE", kInteger, 0, 1, "0",
  "1: several ranks may use one GPU (in plans from 2.30 on)")

// Paths that data may take.
X(kP2pDisable, "NCCL_P2P_DISABLE", kInteger, 0, 1, "0", "1: no direct transfers between GPUs")
X(kP2pLevel, "NCCL_P2P_LEVEL", kLevel, 0, 0, "",
  "farthest path over which GPUs talk directly (LOC, NVL, PIX, PXB, PHB, SYS)")
X(kP2pDirectDisable, "NCCL_P2P_DIRECT_DISABLE", kInteger, 0, 1, "0",
  "1: GPUs of one process do not read each other's buffers")
X(kP2pUseCudaMemcpy, "NCCL_P2P_USE_CUDA_MEMCPY", kInteger, 0, 1, "0",
  "1: copy engines move data between GPUs, not kernels; they cannot relay")
X(kShmDisable, "NCCL_SHM_DISABLE", kInteger, 0, 1, "0", "1: no transfers through shared memory")
X(kNetGdrLevel, "NCCL_NET_GDR_LEVEL", kLevel, 0, 0, "",
  "farthest path over which a NIC reaches GPU memory directly")
X(kNetForceFlush, "NCCL_NET_FORCE_FLUSH", kInteger, 0, 1, "0",
  "1: flush what a NIC has written into GPU memory, whatever the GPU")
X(kCumemEnable, "NCCL_CUMEM_ENABLE", kInteger, -2, 1, "-2",
  "1: processes share memory of GPUs as files (cuMem) where the driver makes them; 0, -2: by CUDA IPC")
X(kDmabufEnable, "NCCL_DMABUF_ENABLE", kInteger, 0, 1, "1",
  "0: net plugins get memory of GPUs by its address alone, not as DMA-BUF")
X(kNetGdrRead, "NCCL_NET_GDR_READ", kInteger, -2, 1, "-2",
  "1/0: GPU Direct RDMA when sending on or off; -2: by architecture")
X(kPxnDisable, "NCCL_PXN_DISABLE", kInteger, 0, 1, "0", "1: never reach a NIC through another GPU")
X(kNetGdrC2c, "NCCL_NET_GDR_C2C", kInteger, -2, 1, "-2",
  "1/0: GPU Direct RDMA over chip-to-chip links on or off; -2: by version (off before 2.27)")
X(kPxnC2c, "NCCL_PXN_C2C", kInteger, -2, 1, "-2",
  "1/0: a GPU may reach its NIC for others over a chip-to-chip link; -2: by version (0 before 2.28)")
X(kNetDevsPolicy, "NCCL_NETDEVS_POLICY", kText, 0, 0, "AUTO",
  "NICs of a GPU: AUTO shares those nearest, ALL takes them all, MAX:N up to N (from 2.28 on)")
X(kMnnvlEnable, "NCCL_MNNVL_ENABLE", kInteger, 0, 2, "2",
  "0: hosts of one NVLink domain are planned for one by one; 1: together; 2: together if there is P2P (before 2.27: as 1)")
X(kMnnvlCliqueId, "NCCL_MNNVL_CLIQUE_ID", kInteger, -2, 0x7fffffff, "-1",
  "-2: hosts of an NVLink domain are planned for together within a rack only (from 2.28 on); -1: within the domain")
X(kMnnvlScatterNets, "NCCL_MNNVL_SCATTER_NETS_ENABLE", kInteger, 0, 1, "1",
  "0: try NICs GPU after GPU in a graph of several hosts (from 2.27 on)")
X(kMnnvlRailPerHost, "NCCL_MNNVL_RAIL_PER_HOST", kInteger, 0, 1, "0",
  "1: NICs in one slot of several hosts are on one rail, in a graph of several hosts (from 2.28 on)")
X(kTopoSplitMlopart, "NCCL_TOPO_SPLIT_MLOPART", kInteger, 0, 1, "1",
  "0: parts of a GPU are ranks on one device, which cannot be planned (from 2.30 on)")
X(kNetGdrMlopart, "NCCL_NET_GDR_MLOPART", kInteger, 0, 1, "0",
  "1: GPU Direct RDMA with parts of a GPU (from 2.30 on)")
X(kNetMergePolicy, "NCCL_NET_MERGE_POLICY", kText, 0, 0, "ALL",
  "RAIL: merge only NICs of one rail (from 2.30 on)")
X(kP2pPxnLevel, "NCCL_P2P_PXN_LEVEL", kInteger, 0, 2, "2",
  "use of other GPUs' NICs for send/receive: 0 none, 1 near, 2 always")
X(kNvbDisable, "NCCL_NVB_DISABLE", kInteger, 0, 1, "0", "1: no relay through another GPU's NVLinks")
X(kNetDisableIntra, "NCCL_NET_DISABLE_INTRA", kInteger, 0, 1, "0", "1: never use the network inside a host")

// The channel search and the number of channels.
X(kCrossNic, "NCCL_CROSS_NIC", kInteger, 0, 2, "2",
  "rings may enter and leave by different NICs: 0 no, 1 yes, 2 if better")
X(kGraphFile, "NCCL_GRAPH_FILE", kPath, 0, 0, "", "graph XML with the channels to use instead of searching")
X(kGraphDumpFile, "NCCL_GRAPH_DUMP_FILE", kPath, 0, 0, "", "write the host's channels as graph XML here")
X(kGraphDumpFileRank, "NCCL_GRAPH_DUMP_FILE_RANK", kInteger, 0, 1 << 30, "0", "the rank that writes it")
X(kMinNChannels, "NCCL_MIN_NCHANNELS", kInteger, -2, 1 << 20, "-2", "at least this many channels")
X(kMaxNChannels, "NCCL_MAX_NCHANNELS", kInteger, -2, 1 << 20, "-2", "at most this many channels")
X(kMinNRings, "NCCL_MIN_NRINGS", kInteger, -2, 1 << 20, "-2", "older name of NCCL_MIN_NCHANNELS")
X(kMaxNRings, "NCCL_MAX_NRINGS", kInteger, -2, 1 << 20, "-2", "older name of NCCL_MAX_NCHANNELS")
X(kMinCtas, "NCCL_MIN_CTAS", kInteger, 1, 1 << 20, "1", "at least this many thread blocks, so channels")
X(kMaxCtas, "NCCL_MAX_CTAS", kInteger, 1, 1 << 20, "64", "at most this many thread blocks, so channels")
X(kWorkArgsBytes, "NCCL_WORK_ARGS_BYTES", kInteger, 0, 1 << 20, "0",
  "bytes of kernel arguments; limits channels to (bytes-32)/16")
X(kNvlsEnable, "NCCL_NVLS_ENABLE", kInteger, 0, 2, "2",
  "NVLink multicast: 0 no, 1 yes, 2 if driver and GPUs support it")
X(kNvlsNChannels, "NCCL_NVLS_NCHANNELS", kInteger, -2, 64, "-2",
  "channels for NVLink multicast; -2: by architecture (16 or 32)")
X(kCollnetEnable, "NCCL_COLLNET_ENABLE", kInteger, 0, 1, "0",
  "1: let a network that computes collectives do so, if there is one")
X(kCollnetNodeThreshold, "NCCL_COLLNET_NODE_THRESHOLD", kInteger, 0, 1 << 30, "2",
  "fewest hosts for which such a network is used")
X(kLl128C2c, "NCCL_LL128_C2C", kInteger, 0, 1, "1",
  "0: no LL128 over PXN or chip-to-chip links (from 2.27 on)")
X(kNChannelsPerNetPeer, "NCCL_NCHANNELS_PER_NET_PEER", kInteger, -1, 64, "-1",
  "channels per peer on another host for send/receive; -1: automatic")
X(kP2pScheduleGroupSize, "NCCL_P2P_SCHEDULE_GROUP_SIZE", kInteger, 1, 1 << 20, "8",
  "local ranks that form a group for send/receive between hosts (from 2.28 on)")
X(kP2pMaxPeers, "NCCL_P2P_MAX_PEERS", kInteger, 0, 1 << 20, "0",
  "peers with which a rank exchanges data at once by send/receive (from 2.30 on); 0: all")
X(kP2pPerChannelNetBw, "NCCL_P2P_PER_CHANNEL_NET_BW", kInteger, 1, 1 << 20, "14",
  "GB/s of a NIC that one channel of send/receive serves (from 2.29 on)")
X(kMinP2pNChannels, "NCCL_MIN_P2P_NCHANNELS", kInteger, 1, 64, "1",
  "at least this many channels for send/receive")
X(kMaxP2pNChannels, "NCCL_MAX_P2P_NCHANNELS", kInteger, 1, 64, "64",
  "at most this many channels for send/receive")

// The choice of algorithm and protocol.
X(kAlgo, "NCCL_ALGO", kText, 0, 0, "",
  "algorithms to choose from: [collective:][^]name,name;… (Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT)")
X(kProto, "NCCL_PROTO", kText, 0, 0, "",
  "protocols to choose from: [collective:][^]name,name;… (LL, LL128, Simple)")
X(kPatEnable, "NCCL_PAT_ENABLE", kInteger, 0, 2, "2", "PAT: 0 never, 1 always, 2 if each node has one rank")
X(kNetOverhead, "NCCL_NET_OVERHEAD", kInteger, -2, 1 << 30, "-2",
  "nanoseconds a CPU needs to start a network transfer; -2: by CPU")
X(kNThreads, "NCCL_NTHREADS", kInteger, -2, 1 << 20, "-2", "threads per block, 64 to 512 in steps of 32")
X(kLl128NThreads, "NCCL_LL128_NTHREADS", kInteger, -2, 1 << 20, "-2",
  "threads per block with LL128, 160 to 640 in steps of 32")
X(kHostModel, "XYLEM_HOST_MODEL", kText, 0, 0, "",
  "what the tuning model knows of host devices: NAME=NUMBER,... as `xylem tune --calibrate` prints")
X(kThreadThresholds, "NCCL_THREAD_THRESHOLDS", kText, 0, 0, "",
  "bytes per thread below which fewer threads do: LL LL128 Simple of Tree, then of Ring; -2 keeps")
X(kLlBuffSize, "NCCL_LL_BUFFSIZE", kInteger, 64, 1 << 30, "524288", "bytes of a connection's LL buffer")
X(kLl128BuffSize, "NCCL_LL128_BUFFSIZE", kInteger, 64, 1 << 30, "4915200",
  "bytes of a connection's LL128 buffer")
X(kNvlsChunkSize, "NCCL_NVLS_CHUNKSIZE", kInteger, 1, 1 << 30, "131072", "bytes of a chunk with NVLS")
X(kP2pLlThreshold, "NCCL_P2P_LL_THRESHOLD", kInteger, 0, 1 << 30, "16384",
  "bytes per channel up to which send/receive uses LL")
X(kP2pNetChunkSize, "NCCL_P2P_NET_CHUNKSIZE", kInteger, 1, 1 << 30, "131072",
  "bytes of a step of send/receive in jobs of several nodes")
X(kP2pPciChunkSize, "NCCL_P2P_PCI_CHUNKSIZE", kInteger, 1, 1 << 30, "131072",
  "bytes of a step of send/receive on one node")
X(kP2pNvlChunkSize, "NCCL_P2P_NVL_CHUNKSIZE", kInteger, 1, 1 << 30, "524288",
  "bytes of a step of send/receive on one node whose GPUs are all joined by NVLink")
X(kChunkSize, "NCCL_CHUNK_SIZE", kInteger, 0, 1 << 30, "0", "bytes of a chunk of send/receive; 0: one step")
X(kNvlsTreeMaxChunkSize, "NCCL_NVLSTREE_MAX_CHUNKSIZE", kInteger, -2, 1 << 30, "-2",
  "bytes of a chunk with NVLSTree at most; -2: 64 KiB from four nodes on")

// Logging.
X(kDebug, "NCCL_DEBUG", kText, 0, 0, "", "what to log: VERSION, WARN, INFO or TRACE")
X(kDebugSubsys, "NCCL_DEBUG_SUBSYS", kList, 0, 0, "INIT,BOOTSTRAP,ENV",
  "parts that log: INIT, GRAPH, NET, … or ALL; ^ excludes")
X(kDebugFile, "NCCL_DEBUG_FILE", kPath, 0, 0, "", "log to this file; %h is the host, %p the process id")

// Bootstrap and buffers of the runtime.
X(kRunLauncher, "XYLEM_RUN_LAUNCHER", kText, 0, 0, "",
  "how `xylem run` starts ranks on other hosts; {host} is the host's name (ssh {host})")
X(kCommId, "NCCL_COMM_ID", kText, 0, 0, "",
  "address of the root as host:port, for jobs without an exchanged id")
X(kSecret, "XYLEM_SECRET", kSecret, 0, 0, "",
  "keeps out whoever does not have it from jobs that meet at NCCL_COMM_ID; the same text for all ranks")
X(kSocketIfname, "NCCL_SOCKET_IFNAME", kList, 0, 0, "", "interfaces to use: prefixes, =exact, ^excluded")
X(kSocketFamily, "NCCL_SOCKET_FAMILY", kText, 0, 0, "", "AF_INET or AF_INET6 to use one address family only")
X(kSocketNthreads, "NCCL_SOCKET_NTHREADS", kInteger, -2, 16, "-2",
  "sockets of a network connection come in this many groups, each moved by a thread of its own; -2: by the interface's speed")
X(kNsocksPerThread, "NCCL_NSOCKS_PERTHREAD", kInteger, -2, 64, "-2",
  "sockets of each group; all groups together have 64 at most; -2: 1")
X(kTcpCongestion, "XYLEM_TCP_CONGESTION", kText, 0, 0, "auto",
  "TCP's congestion control for data: auto, which is the system's, but cubic or reno for BBR where a round trip takes less than 1 ms; system; or a name, of net.ipv4.tcp_allowed_congestion_control")
X(kPeerTimeout, "XYLEM_PEER_TIMEOUT", kInteger, 1, 86400, "20",
  "seconds without any answer after which a rank on another host counts as lost")
X(kBuffSize, "NCCL_BUFFSIZE", kInteger, 64, 1 << 30, "4194304", "bytes of a connection's SIMPLE buffer")
X(kCopyChoices, "XYLEM_COPY_CHOICES", kText, 0, 0, "measured",
  "how data moves within a host: measured; default; or [default,]NAME=NUMBER,... of read_from, read_up_to, block_read_from, block_read_up_to, reduce_read_from, reduce_read_up_to, piece, whole, cycle, staged, stream_message, stream_exchange, stream_far, far, adapt, huge_pages")
X(kCrossMemory, "XYLEM_CMA_BYTES", kInteger, -2, 1 << 30, "-2",
  "bytes from which on a message, or a rank's block, is copied by the kernel from process to process, where it cannot be mapped; 0: it goes through shared memory; -2: as measured (XYLEM_COPY_CHOICES)")
X(kCopyThreads, "XYLEM_COPY_THREADS", kInteger, 0, 64, "0",
  "threads that copy and reduce a rank's data within its host, if that is much: the calling thread and its helpers; 0: one per core that the rank has, at most 8")
X(kTimeout, "XYLEM_TIMEOUT", kInteger, 1, 86400, "60", "seconds to wait for other ranks while joining")
X(kDirect, "XYLEM_DIRECT", kInteger, 0, 1, "1",
  "1: ranks of one host reach into each other's buffers in one exchange where they can; 0: rings and trees only")
X(kPxn, "XYLEM_PXN", kInteger, 0, 1, "0",
  "1: ranks on host devices, too, send through the network device of another rank of the host where the plan has it (PXN); 0: they use that device themselves")
X(kOperationTimeout, "XYLEM_OPERATION_TIMEOUT", kInteger, 0, 86400, "0",
  "seconds without any progress after which an operation fails; 0: it waits, and the log says for whom")
X(kCheck, "XYLEM_CHECK", kInteger, 0, 1, "0",
  "1 on any rank: ranks compare their calls before data moves, sends with receives; on GPUs collectives, meanwhile")
X(kDumpSignal, "XYLEM_DUMP_SIGNAL", kInteger, 0, 64, "0",
  "on this signal a process writes what its communicators did last (12: SIGUSR2); 0: none")
X(kStoppedTimeout, "XYLEM_STOPPED_TIMEOUT", kInteger, 0, 86400, "1",
  "seconds after which a rank of this host that is stopped (SIGSTOP) counts as failed; 0: never")
X(kDevice, "XYLEM_DEVICE", kText, 0, 0, "auto",
  "what ranks run on: host; gpu, the current device of CUDA; auto: gpu if the thread has a context of NVIDIA's driver, or the library is the one for GPUs")
X(kHostDevices, "XYLEM_HOST_DEVICES", kInteger, 0, 4096, "0",
  "host devices of this machine; 0: one per core, or per local rank")

// Networks and plugins.
X(kNet, "NCCL_NET", kText, 0, 0, "",
  "the network to use: Socket, Fabric (libfabric), or a net plugin's name; default: the first plugin that serves, else Socket")
X(kFabricProvider, "XYLEM_FABRIC_PROVIDER", kList, 0, 0, "",
  "providers of libfabric for NCCL_NET=Fabric, the best first; default: efa,cxi,verbs,opx,psm2,tcp")
X(kFabricWrite, "XYLEM_FABRIC_WRITE", kInteger, -2, 1, "-2",
  "1: Fabric writes into the receiver's memory; 0: it sends tagged messages; -2: by provider")
X(kNetPlugin, "NCCL_NET_PLUGIN", kList, 0, 0, "",
  "net plugins to try first: files, or X for libnccl-net-X.so; none: not even libnccl-net.so")
X(kTunerPlugin, "NCCL_TUNER_PLUGIN", kText, 0, 0, "",
  "plugin that has a say in algorithms, protocols and channels: a file, or X for libnccl-tuner-X.so; none")
X(kEnvPlugin, "NCCL_ENV_PLUGIN", kText, 0, 0, "",
  "library that answers for NCCL's variables in place of the environment; read from the environment only")
X(kProfilerPlugin, "NCCL_PROFILER_PLUGIN", kText, 0, 0, "",
  "plugin that is told what happens when: a file, or X for libnccl-profiler-X.so; none")
