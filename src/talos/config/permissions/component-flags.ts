import { allow, type PatchPermission, type ValueCheck } from './patch-permission.ts';
import { permissionReasons } from './permission-reasons.ts';
import {
  bindAddress,
  duration,
  enabledApiVersions,
  fraction,
  logVerbosity,
  subnetList,
  trueOrFalse,
  wholeNumber,
  wildcardOrLoopbackAddress,
} from './value-checks.ts';

type FlagChecks = Readonly<Record<string, ValueCheck>>;

const forFlags = (names: string, check: ValueCheck): FlagChecks =>
  Object.fromEntries(names.split(' ').map((name) => [name, check]));

/**
 * Flags that tune the programs of Kubernetes. None of them reads or writes a file, names another system, or affects
 * authentication, authorization or auditing.
 */
const flagChecks = {
  apiServer: {
    ...forFlags('event-ttl request-timeout', duration),
    ...forFlags('default-not-ready-toleration-seconds default-unreachable-toleration-seconds', wholeNumber),
    ...forFlags('max-requests-inflight max-mutating-requests-inflight min-request-timeout', wholeNumber),
    'goaway-chance': fraction,
    'runtime-config': enabledApiVersions,
    v: logVerbosity,
  },
  controllerManager: {
    ...forFlags('node-monitor-period node-monitor-grace-period', duration),
    ...forFlags('horizontal-pod-autoscaler-sync-period horizontal-pod-autoscaler-downscale-stabilization', duration),
    ...forFlags('horizontal-pod-autoscaler-cpu-initialization-period', duration),
    ...forFlags('horizontal-pod-autoscaler-initial-readiness-delay', duration),
    'horizontal-pod-autoscaler-tolerance': fraction,
    ...forFlags(
      'terminated-pod-gc-threshold node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6',
      wholeNumber,
    ),
    ...forFlags(
      'concurrent-deployment-syncs concurrent-endpoint-syncs concurrent-gc-syncs concurrent-job-syncs',
      wholeNumber,
    ),
    ...forFlags('concurrent-namespace-syncs concurrent-replicaset-syncs concurrent-service-syncs', wholeNumber),
    ...forFlags('concurrent-statefulset-syncs concurrent-horizontal-pod-autoscaler-syncs', wholeNumber),
    'allocate-node-cidrs': trueOrFalse,
    'bind-address': wildcardOrLoopbackAddress,
    v: logVerbosity,
  },
  scheduler: { 'bind-address': wildcardOrLoopbackAddress, v: logVerbosity },
  kubelet: {
    'node-status-update-frequency': duration,
    'max-pods': wholeNumber,
    'rotate-server-certificates': trueOrFalse,
    v: logVerbosity,
  },
  proxy: {
    ...forFlags('conntrack-max-per-core conntrack-min', wholeNumber),
    ...forFlags('conntrack-tcp-timeout-established conntrack-tcp-timeout-close-wait', duration),
    'ipvs-strict-arp': trueOrFalse,
    'metrics-bind-address': bindAddress,
    'nodeport-addresses': subnetList,
    v: logVerbosity,
  },
  etcd: {
    ...forFlags('quota-backend-bytes snapshot-count heartbeat-interval election-timeout', wholeNumber),
    'auto-compaction-mode': {
      description: 'periodic or revision',
      accepts: (value) => ['periodic', 'revision'].includes(String(value)),
    },
    'auto-compaction-retention': {
      description: 'a whole number or a duration',
      accepts: (value, context) => wholeNumber.accepts(value, context) || duration.accepts(value, context),
    },
  },
} satisfies Record<string, FlagChecks>;

export type KubernetesComponent = keyof typeof flagChecks;

/** The permissions for the flags of a program, below `extraArgs`. */
export const flagPermissions = (program: KubernetesComponent): readonly PatchPermission[] =>
  Object.entries<ValueCheck>(flagChecks[program]).map(([flag, value]) =>
    allow(`extraArgs.${flag}`, permissionReasons.program, { value }),
  );
