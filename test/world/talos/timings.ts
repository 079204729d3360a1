/**
 * Durations in simulated seconds. The orders of magnitude were seen on Talos 1.13.9 in a slowly emulated machine;
 * nothing may depend on the exact numbers.
 */
export const timings = {
  /** Power-on of an image to an answering API. */
  coldBoot: 30,
  /** The API answers in stage `installing` before the machine boots into the installed system. */
  install: 55,
  /** The stage `rebooting` before the API stops for the kexec. */
  beforeKexec: 8,
  /** From there to an answering API: kexec into the installed system. */
  kexecAfterInstall: 85,
  /** A reboot requested through the API: services stop, while the API still answers in stage `rebooting`. */
  stopping: 90,
  /** The API stops last. */
  stopApi: 2,
  /** From there to an answering API. */
  reboot: 35,
  /** API up to the CRI being up: until then no bootstrap. */
  cri: 6,
  /** API up to a synchronised clock: until then no etcd, kubelet or trustd. */
  timeSync: 15,
  /** First to second serving certificate in maintenance mode, when an IPv6 address appears. */
  maintenanceCertificate: 1.4,
  /** Configuration accepted in maintenance mode to mutual TLS. */
  tlsFlip: 4,
  /**
   * Bootstrap to the first bytes in the etcd data directory, with the pull of the image: until then a second call also
   * succeeds.
   */
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
  /** The same two for a node that was in the cluster before: its Node and its images exist. */
  kubeletAgain: 5,
  nodeReadyAgain: 10,
  /** Scheduled Pod to a ready one. */
  podStart: 3,
  /** Deletion of a Pod to the end of its containers, which obey SIGTERM. */
  podStop: 5,
  /** Between two reports of an idle kubelet (`nodeStatusReportFrequency`). */
  nodeReport: 5 * 60,
  /** Without a heartbeat to a Node that is `Unknown` (`--node-monitor-grace-period`). */
  nodeSilence: 40,
  /** Pull of an image. */
  imagePull: 10,
  /** Between two attempts to pull an image that is not there. */
  imageRetry: 10,
  /** Another configuration to what its controllers render from it: specifications, static pods. */
  controllers: 0.5,
  /** Between two starts of a service that ends at once. */
  serviceRestart: 5,
  /** A static pod besides kube-apiserver is replaced. */
  staticPod: 10,
  /** A kubelet with another configuration starts. */
  kubeletRestart: 3,
  /** The installer writes a system. */
  installer: 20,
  /** After a fatal error, before the machine reboots (talos: internal/app/machined/main.go). */
  fatalPause: 10,
  /** The wait for the own cordon, after which a sequence fails. */
  cordon: 60,
  /** Poll interval of waits. */
  poll: 3,
  /** Between two attempts to acquire a configuration that does not parse. */
  acquireRetry: 15,
  /** Between two DHCP requests without an answer. */
  dhcpRetry: 5,
  /** After a sequence that failed permanently: then the machine reboots (FailurePauseTimeout). */
  failurePause: 35 * 60,
  /** Lifetime of a discovery affiliate after its node is gone. */
  affiliateTtl: 30 * 60,
  /** Failed VIP owner to a new one. */
  vipFailover: 5,
  /** Shutdown time of a guest after the ACPI button. */
  shutdown: 15,
} as const;
