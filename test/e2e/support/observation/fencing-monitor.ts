import type { Lease } from '../../../../src/kube/core-types.ts';
import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import type { ProviderReplica } from '../provider-process/provider-replica.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** The Lease as written, and the time of the write in milliseconds. */
export interface LeaseWrite {
  readonly at: number;
  readonly holder: string;
  readonly lastsMs: number;
}

/** A mutating call, its arrival by the same clock, and the name of the pod that made it. */
export interface MutatingCall {
  readonly at: number;
  readonly pod: string | undefined;
  readonly what: string;
}

/** Messages about mutating calls by a pod that did not hold the Lease, or whose Lease had expired. */
export function findFencingViolations(leases: readonly LeaseWrite[], changes: readonly MutatingCall[]): string[] {
  return changes.flatMap(({ at, pod, what }) => {
    const written = leases.findLast((one) => one.at <= at);
    if (written?.holder.startsWith(`${pod}_`) && at <= written.at + written.lastsMs) return [];
    const since = written ? `${Math.round(at - written.at)} ms after ${written.holder || 'nobody'}` : 'before anybody';
    return [`${pod}: ${what}, ${since} had it`];
  });
}

interface TimedCall {
  readonly at: number;
  readonly call: InterceptedCall;
}

/** Whether a call to a simulator changes something; renewals of the provider's Lease do not count. */
export const isMutatingCall = ({ simulator, name }: InterceptedCall): boolean => {
  switch (simulator) {
    case 'kube':
    case 'workload':
      return !/^(GET|HEAD) /.test(name) && !isLeaseRequest(name);
    case 'truenas':
      return /^(POST |.*\.(create|update|delete|start|stop|poweroff|restart|resume|put|set_|mkdir)$)/.test(name);
    case 'talos':
      return /\/(Bootstrap|ApplyConfiguration|Reset|Reboot|Shutdown|Upgrade|Etcd(Leave|Remove|Forfeit)\w*)$/.test(name);
    case 'image-factory':
      // The id of a schematic is the hash of its content: registering it late or again changes nothing.
      return !/^(GET|HEAD|POST \/schematics$)/.test(name);
    default:
      return !/^(GET|HEAD) /.test(name);
  }
};

/** Every pod may try to acquire the Lease at any time. */
const isLeaseRequest = (name: string): boolean => /\/leases\/cluster-provider-talos-[^/]*$/.test(name);

/**
 * Monitors that never two pods act at once. The simulated etcd reports the holder of the Lease at the moment of each
 * write. The source address identifies the pod behind a mutating call at the moment of its arrival.
 */
export class FencingMonitor<P extends ProviderReplica = ProviderReplica> {
  readonly #pods: readonly P[];
  readonly #written: LeaseWrite[] = [];
  readonly #changes: TimedCall[] = [];
  #judged = 0;
  readonly #stop: () => void;

  constructor({ world, namespace }: Testbed, pods: readonly P[]) {
    this.#pods = pods;
    const offs = [
      world.switchboard.onCall((call) => {
        if (isMutatingCall(call) && this.podOf(call)) this.#changes.push({ at: performance.now(), call });
      }),
      world.platform?.store.onChange(({ object, type }) => {
        const { kind, metadata, spec } = object as unknown as Lease;
        if (kind !== 'Lease' || metadata.namespace !== namespace || !isLeaseRequest(`/leases/${metadata.name}`)) return;
        const holder = type === 'DELETED' ? '' : (spec?.holderIdentity ?? '');
        this.#written.push({ at: performance.now(), holder, lastsMs: (spec?.leaseDurationSeconds ?? 0) * 1000 });
      }),
    ];
    this.#stop = () => {
      for (const off of offs) off?.();
    };
  }

  podOf({ from }: InterceptedCall): P | undefined {
    return this.#pods.find(({ address }) => address === from);
  }

  /** The pod that holds the Lease. */
  get leader(): P | undefined {
    return this.#pods.find(({ name }) => this.#written.at(-1)?.holder.startsWith(`${name}_`));
  }

  /** The holders of the Lease, in order, without repetitions. Each run of a pod counts as a holder of its own. */
  get holders(): string[] {
    const all = this.#written.map(({ holder }) => holder).filter((holder) => holder !== '');
    return all.filter((holder, i) => holder !== all[i - 1]);
  }

  /** The number of mutating calls from a pod. */
  changesOf(pod: P): number {
    return this.#changes.filter(({ call }) => this.podOf(call) === pod).length;
  }

  /**
   * Mutating calls since the last call of this method by a pod that did not hold the Lease, or whose Lease had expired.
   */
  takeViolations(): string[] {
    const assessed = this.#changes.slice(this.#judged);
    this.#judged = this.#changes.length;
    // The first holder creates the Lease; that call arrives before the Lease exists.
    const isFirst = ({ at, call }: TimedCall): boolean =>
      call.simulator === 'kube' && /^POST .*\/leases$/.test(call.name) && this.#written.every((one) => one.at > at);
    const changes = assessed
      .filter((timed) => !isFirst(timed))
      .map(({ at, call }) => ({ at, pod: this.podOf(call)?.name, what: `${call.simulator} ${call.name}` }));
    return findFencingViolations(this.#written, changes);
  }

  close(): void {
    this.#stop();
  }
}
