import { isSameCluster } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { ChangeClass } from '../../engine/change-class.ts';
import { clusterIdentityOf, clusterOfMachine } from '../cluster/identity.ts';
import { orderMachines } from '../rollout/order-machines.ts';

/** A change of a running machine that a rollout would make, or cannot make. */
export interface PlannedUpdate {
  /** `namespace/name` */
  readonly cluster: string;
  readonly machine: string;
  readonly effect: 'changes' | 'restarts' | 'replaces' | 'blocked' | 'unknown';
  /** What differs; a changed form of the documents differs in many fields. */
  readonly fields: readonly string[];
  readonly note: string;
}

const effects: Readonly<Record<ChangeClass, PlannedUpdate['effect']>> = {
  live: 'changes',
  kubernetes: 'changes',
  restart: 'restarts',
  os: 'restarts',
  hardware: 'restarts',
  replace: 'replaces',
  refused: 'blocked',
};

const notes: Readonly<Record<ChangeClass, string>> = {
  live: 'no restart',
  kubernetes: 'components of Kubernetes restart',
  restart: 'drained and restarted',
  os: 'drained, upgraded and restarted',
  hardware: 'drained and switched off meanwhile',
  replace: 'another machine takes its place',
  refused: 'cannot be made',
};

/**
 * The changes of running machines in the order in which a rollout makes them. Which cluster comes first, and which control
 * plane leads etcd and therefore comes last, is only known then.
 */
export function planUpdates(
  clusters: readonly Cluster[],
  machines: readonly Machine[],
  { workerPools }: Pick<ProviderConfigSpec, 'workerPools'>,
): PlannedUpdate[] {
  const pools = workerPools.map(({ name }) => name);
  return clusters.flatMap((cluster) => {
    const identity = clusterIdentityOf(cluster);
    const own = machines.filter((machine) => isSameCluster(clusterOfMachine(machine), identity));
    return orderMachines(own, { pools }).flatMap((machine) =>
      planUpdate(`${identity.namespace}/${identity.name}`, machine),
    );
  });
}

function planUpdate(cluster: string, { metadata, spec, status }: Machine): PlannedUpdate[] {
  const { pending, compared, applied } = status ?? {};
  const { name: machine, deletionTimestamp } = metadata;
  if (deletionTimestamp) return [];
  if (pending) {
    const version = `talos.version ${applied?.talosVersion ?? 'unknown'} to ${spec.talosVersion}`;
    const fields = pending.fields.map((field) => (field === 'talos.version' ? version : field));
    return [{ cluster, machine, effect: effects[pending.class], fields, note: notes[pending.class] }];
  }
  const note = 'The running machine was not compared with the ProviderConfig yet.';
  return compared === undefined ? [{ cluster, machine, effect: 'unknown', fields: [], note }] : [];
}
