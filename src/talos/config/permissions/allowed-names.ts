/**
 * Kernel settings that tune memory, files and connections. None of them names a program that the kernel starts
 * (`kernel.core_pattern`, `kernel.modprobe`), weakens a kernel protection, or forwards traffic between nodes.
 */
export const allowedSysctls: ReadonlySet<string> = new Set(
  [
    'vm.max_map_count vm.nr_hugepages vm.nr_overcommit_hugepages vm.overcommit_memory vm.overcommit_ratio vm.swappiness',
    'vm.dirty_ratio vm.dirty_background_ratio vm.dirty_bytes vm.dirty_background_bytes vm.dirty_expire_centisecs',
    'vm.dirty_writeback_centisecs vm.vfs_cache_pressure vm.min_free_kbytes',
    'fs.file-max fs.nr_open fs.aio-max-nr fs.inotify.max_user_watches fs.inotify.max_user_instances',
    'fs.inotify.max_queued_events',
    'kernel.pid_max kernel.threads-max kernel.keys.maxkeys kernel.keys.maxbytes kernel.keys.root_maxkeys',
    'kernel.keys.root_maxbytes kernel.msgmax kernel.msgmnb kernel.msgmni kernel.sem kernel.shmall kernel.shmmax kernel.shmmni',
    'net.core.somaxconn net.core.netdev_max_backlog net.core.netdev_budget net.core.optmem_max net.core.default_qdisc',
    'net.core.rmem_default net.core.rmem_max net.core.wmem_default net.core.wmem_max',
    'net.ipv4.ip_local_port_range net.ipv4.udp_mem net.ipv4.udp_rmem_min net.ipv4.udp_wmem_min',
    'net.ipv4.neigh.default.gc_thresh1 net.ipv4.neigh.default.gc_thresh2 net.ipv4.neigh.default.gc_thresh3',
    'net.ipv6.neigh.default.gc_thresh1 net.ipv6.neigh.default.gc_thresh2 net.ipv6.neigh.default.gc_thresh3',
    'net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_mem net.ipv4.tcp_fin_timeout net.ipv4.tcp_tw_reuse',
    'net.ipv4.tcp_keepalive_time net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes net.ipv4.tcp_max_syn_backlog',
    'net.ipv4.tcp_max_tw_buckets net.ipv4.tcp_max_orphans net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_mtu_probing',
    'net.ipv4.tcp_congestion_control net.ipv4.tcp_notsent_lowat net.ipv4.tcp_retries2 net.ipv4.tcp_syn_retries',
    'net.ipv4.tcp_synack_retries net.ipv4.tcp_fastopen net.ipv4.tcp_window_scaling net.ipv4.tcp_timestamps',
    'net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_tcp_timeout_established',
    'net.netfilter.nf_conntrack_tcp_timeout_close_wait net.netfilter.nf_conntrack_tcp_timeout_time_wait',
    'net.netfilter.nf_conntrack_udp_timeout net.netfilter.nf_conntrack_udp_timeout_stream',
  ].flatMap((line) => line.split(' ')),
);
export const isAllowedSysctl = (name: string): boolean => allowedSysctls.has(name);

/** Modules for storage, Pod networks and accelerators. None gives programs direct access to a device (vfio, uio). */
export const allowedModules: ReadonlySet<string> = new Set(
  [
    'br_netfilter vxlan geneve wireguard tun sctp ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh ip_vs_lc ip_set xt_set xt_socket',
    'xt_TPROXY xt_CT xt_mark xt_bpf nf_conntrack nf_tables ip_tables ip6_tables iptable_nat iptable_filter iptable_mangle',
    'iptable_raw ip6table_nat ip6table_filter ip6table_mangle ip6table_raw sch_fq sch_htb sch_ingress cls_bpf act_bpf tcp_bbr',
    'nbd dm_thin_pool dm_snapshot dm_mirror dm_crypt dm_multipath dm_raid dm_writecache dm_cache iscsi_tcp nvme_fabrics',
    'nvme_tcp nvmet nvmet_tcp rbd ceph nfs nfsd cifs drbd drbd_transport_tcp zfs',
    'vhost_net vhost_vsock kvm kvm_intel kvm_amd nvidia nvidia_uvm nvidia_drm nvidia_modeset',
  ].flatMap((line) => line.split(' ')),
);
export const isAllowedModule = (name: unknown): boolean => typeof name === 'string' && allowedModules.has(name);

/** Kubelet settings for capacity, limits and durations. None affects authorization or the location of its files. */
export const allowedKubeletSettings = [
  'maxPods podsPerCore podPidsLimit cpuCFSQuota cpuCFSQuotaPeriod failSwapOn memorySwap registerWithTaints',
  'evictionHard evictionSoft evictionSoftGracePeriod evictionMinimumReclaim evictionMaxPodGracePeriod',
  'evictionPressureTransitionPeriod imageGCHighThresholdPercent imageGCLowThresholdPercent imageMinimumGCAge imageMaximumGCAge',
  'containerLogMaxSize containerLogMaxFiles shutdownGracePeriod shutdownGracePeriodCriticalPods',
  'shutdownGracePeriodByPodPriority cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod memoryManagerPolicy',
  'reservedMemory reservedSystemCPUs topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions',
  'systemReserved kubeReserved serializeImagePulls maxParallelImagePulls registryPullQPS registryBurst eventRecordQPS eventBurst',
  'kubeAPIQPS kubeAPIBurst nodeStatusUpdateFrequency nodeStatusReportFrequency nodeLeaseDurationSeconds syncFrequency',
  'allowedUnsafeSysctls serverTLSBootstrap streamingConnectionIdleTimeout volumeStatsAggPeriod',
].flatMap((line) => line.split(' '));
