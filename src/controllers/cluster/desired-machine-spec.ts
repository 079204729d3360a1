import type { Machine } from '../../api/machine.ts';
import { isConfigAccepted } from '../machine/is-config-accepted.ts';
import type { ClusterView } from './view.ts';

/** The part of a Machine's spec that follows its ProviderConfig and its Cluster while the machine runs. */
export type FollowingSpec = Pick<Machine['spec'], 'talosVersion'>;

/** The same for new Machines and for existing ones. */
export const desiredMachineSpec = (spec: NonNullable<ClusterView['spec']>): FollowingSpec => ({
  talosVersion: spec.talos.version,
});

/** A Machine whose spec differs from the desired one, and the difference. */
export interface SpecUpdate {
  readonly machine: Machine;
  readonly change: Partial<FollowingSpec>;
}

/**
 * The Machines whose spec does not follow yet. A machine that is still being made keeps its spec, because its boot image and
 * its first configuration have to be of one version: its spec follows once its node has reported what it runs. Nothing
 * follows a ProviderConfig that was not accepted.
 */
export function listSpecUpdates({
  cluster,
  config,
  spec,
  machines,
}: Pick<ClusterView, 'cluster' | 'config' | 'spec' | 'machines'>): SpecUpdate[] {
  if (!spec || cluster.metadata.deletionTimestamp || !isConfigAccepted(config)) return [];
  const { talosVersion } = desiredMachineSpec(spec);
  return machines.flatMap((machine) => {
    const follows = !machine.metadata.deletionTimestamp && machine.status?.applied?.talosVersion !== undefined;
    return follows && machine.spec.talosVersion !== talosVersion ? [{ machine, change: { talosVersion } }] : [];
  });
}
