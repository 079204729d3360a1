/**
 * How long things take, in seconds of the world. Orders of magnitude as seen on Talos 1.13.9 in a slowly emulated machine;
 * nothing may depend on the exact numbers.
 */
export const timings = {
  /** Power-on of an image to an answering API. */
  coldBoot: 30,
  /** How long the API answers in stage `installing` before the machine is on its way into the installed system. */
  install: 55,
  /** The stage `rebooting` before the API is gone for the kexec. */
  beforeKexec: 8,
  /** From there to an answering API: kexec into the installed system. */
  kexecAfterInstall: 85,
  /** A reboot asked for by the API: stopping everything, with the API still answering in stage `rebooting`. */
  stopping: 90,
  /** The last thing to stop is the API itself. */
  stopApi: 2,
  /** From there to an answering API. */
  reboot: 35,
  /** API up to the CRI being up: until then no bootstrap. */
  cri: 6,
  /** API up to a clock in sync: until then no etcd, kubelet or trustd. */
  timeSync: 15,
  /** First to second serving certificate in maintenance mode, when an IPv6 address appears. */
  maintenanceCertificate: 1.4,
  /** Configuration accepted in maintenance mode to mutual TLS. */
  tlsFlip: 4,
  /** Bootstrap to the first bytes in the etcd data directory, by the pull of the image: until then a second call succeeds too. */
  etcdDirectory: 12,
  /** Bootstrap or join to a healthy member. */
  etcd: 20,
  /** Learner to voter. */
  etcdPromotion: 10,
  /** Healthy etcd to an answering kube-apiserver (image pulls). */
  apiServer: 40,
  /** Reachable API server to a registered Node. */
  kubelet: 30,
  /** Registered Node to a ready one (CNI images). */
  nodeReady: 90,
  /** The same two of a node that has been in the cluster before: its Node is there, and so are its images. */
  kubeletAgain: 5,
  nodeReadyAgain: 10,
  /** Between two reports of a kubelet that has nothing new (`nodeStatusReportFrequency`). */
  nodeReport: 5 * 60,
  /** Without a heartbeat to a Node that is `Unknown` (`--node-monitor-grace-period`). */
  nodeSilence: 40,
  /** How often waiting things look again. */
  poll: 3,
  /** Between two attempts to acquire a configuration that does not parse. */
  acquireRetry: 15,
  /** Between two questions for an address that nobody answered. */
  dhcpRetry: 5,
  /** After a sequence that failed for good: then the machine reboots by itself (FailurePauseTimeout). */
  failurePause: 35 * 60,
  /** What a discovery affiliate lives on after its node is gone. */
  affiliateTtl: 30 * 60,
  /** Failed VIP owner to a new one. */
  vipFailover: 5,
  /** How long a switched-off guest needs after the ACPI button. */
  shutdown: 15,
} as const;
