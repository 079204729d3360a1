import type { Machine } from '../../api/machine.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { isConfigAccepted } from '../machine/is-config-accepted.ts';
import type { ClusterView } from './view.ts';

/** The part of a Machine's spec that follows its ProviderConfig and its Cluster while the machine runs. */
export type FollowingSpec = Pick<Machine['spec'], 'talosVersion' | 'size'>;

/** The same for new Machines and for existing ones. */
export const desiredMachineSpec = (spec: NonNullable<ClusterView['spec']>): Pick<Machine['spec'], 'talosVersion'> => ({
  talosVersion: spec.talos.version,
});

/** A Machine whose spec differs from the desired one, and the difference. */
export interface SpecUpdate {
  readonly machine: Machine;
  readonly change: Partial<FollowingSpec>;
}

/** What the spec of a Machine follows from. */
interface FollowedSpec {
  readonly spec: ProviderConfigSpec;
  /** Whether its platform can change the hardware of existing machines. Otherwise they keep their size. */
  readonly followsSize: boolean;
}

/** The fields in which the spec of an existing Machine differs from the desired one. */
export function findSpecChange(machine: Machine, { spec, followsSize }: FollowedSpec): Partial<FollowingSpec> {
  const { talosVersion } = desiredMachineSpec(spec);
  const size = followsSize ? findSize(machine, spec) : undefined;
  return {
    ...(machine.spec.talosVersion === talosVersion ? {} : { talosVersion }),
    ...(size === undefined || machine.spec.size === size ? {} : { size }),
  };
}

/** The size of its pool; undefined for a pool that the spec no longer has. */
const findSize = ({ spec: { role, pool } }: Machine, spec: ProviderConfigSpec): string | undefined =>
  role === 'controlplane' ? spec.controlPlane.size : spec.workerPools.find(({ name }) => name === pool)?.size;

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
  followsSize = false,
}: Pick<ClusterView, 'cluster' | 'config' | 'spec' | 'machines' | 'followsSize'>): SpecUpdate[] {
  if (!spec || cluster.metadata.deletionTimestamp || !isConfigAccepted(config)) return [];
  return machines.flatMap((machine) => {
    const follows = !machine.metadata.deletionTimestamp && machine.status?.applied?.talosVersion !== undefined;
    const change = follows ? findSpecChange(machine, { spec, followsSize }) : {};
    return Object.keys(change).length > 0 ? [{ machine, change }] : [];
  });
}
