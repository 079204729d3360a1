import { because } from './because.ts';
import {
  apiVersions,
  bindAddress,
  duration,
  everyAddress,
  fraction,
  subnetList,
  truth,
  verbosity,
  wholeNumber,
} from './checks.ts';
import { type Check, type Right, right } from './right.ts';

type Flags = Readonly<Record<string, Check>>;

const named = (names: string, check: Check): Flags => Object.fromEntries(names.split(' ').map((name) => [name, check]));

/**
 * Flags of Kubernetes' programs that tune them. None of them reads or writes a file, names another system, or decides who is
 * let in and what is recorded.
 */
const flags = {
  apiServer: {
    ...named('event-ttl request-timeout', duration),
    ...named('default-not-ready-toleration-seconds default-unreachable-toleration-seconds', wholeNumber),
    ...named('max-requests-inflight max-mutating-requests-inflight min-request-timeout', wholeNumber),
    'goaway-chance': fraction,
    'runtime-config': apiVersions,
    v: verbosity,
  },
  controllerManager: {
    ...named('node-monitor-period node-monitor-grace-period', duration),
    ...named('horizontal-pod-autoscaler-sync-period horizontal-pod-autoscaler-downscale-stabilization', duration),
    ...named('horizontal-pod-autoscaler-cpu-initialization-period', duration),
    ...named('horizontal-pod-autoscaler-initial-readiness-delay', duration),
    'horizontal-pod-autoscaler-tolerance': fraction,
    ...named(
      'terminated-pod-gc-threshold node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6',
      wholeNumber,
    ),
    ...named(
      'concurrent-deployment-syncs concurrent-endpoint-syncs concurrent-gc-syncs concurrent-job-syncs',
      wholeNumber,
    ),
    ...named('concurrent-namespace-syncs concurrent-replicaset-syncs concurrent-service-syncs', wholeNumber),
    ...named('concurrent-statefulset-syncs concurrent-horizontal-pod-autoscaler-syncs', wholeNumber),
    'allocate-node-cidrs': truth,
    'bind-address': everyAddress,
    v: verbosity,
  },
  scheduler: { 'bind-address': everyAddress, v: verbosity },
  kubelet: {
    'node-status-update-frequency': duration,
    'max-pods': wholeNumber,
    'rotate-server-certificates': truth,
    v: verbosity,
  },
  proxy: {
    ...named('conntrack-max-per-core conntrack-min', wholeNumber),
    ...named('conntrack-tcp-timeout-established conntrack-tcp-timeout-close-wait', duration),
    'ipvs-strict-arp': truth,
    'metrics-bind-address': bindAddress,
    'nodeport-addresses': subnetList,
    v: verbosity,
  },
  etcd: {
    ...named('quota-backend-bytes snapshot-count heartbeat-interval election-timeout', wholeNumber),
    'auto-compaction-mode': {
      such: 'periodic or revision',
      holds: (value) => ['periodic', 'revision'].includes(String(value)),
    },
    'auto-compaction-retention': {
      such: 'a whole number or a duration',
      holds: (value, context) => wholeNumber.holds(value, context) || duration.holds(value, context),
    },
  },
} satisfies Record<string, Flags>;

export type Program = keyof typeof flags;

/** The flags of a program below `extraArgs`. */
export const flagsOf = (program: Program): readonly Right[] =>
  Object.entries<Check>(flags[program]).map(([flag, value]) => right(`extraArgs.${flag}`, because.program, { value }));
