import { type ClusterIdentity, isSameCluster } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { clusterOfMachine, isOwnMachine } from '../cluster/identity.ts';
import { isInHand } from '../rollout/machine-change.ts';
import type { Services } from '../shared/services.ts';
import { addMinutes } from './choose-action.ts';
import type { SiteProblem } from './decide-remediation.ts';
import { findUnhealthy, type UnhealthyMachine } from './unhealthy-machines.ts';

/** Nodes that fail within this time have a cause in common. */
const sameTimeMinutes = 10;
/** A restart is tried after this time nevertheless: the cause may be over, and the nodes may hang. */
const restartAfterMinutes = 20;

type SiteServices = Pick<Services, 'environment' | 'provider' | 'namespace'> & {
  readonly stores: { readonly machines: Pick<Services['stores']['machines'], 'list'> };
};

/**
 * The unhealthy Machines of a cluster for which a node of another cluster in the same place failed at the same time: the
 * network or the power is more likely to be the cause than the nodes. A place is a failure domain of a ProviderConfig.
 */
export function findSiteProblems(
  services: SiteServices,
  ref: ClusterIdentity,
  machines: readonly Machine[],
): ReadonlyMap<string, SiteProblem> {
  const own = machines.flatMap((machine) => findUnhealthy(machine) ?? []);
  if (own.length === 0) return new Map();
  const others = services.stores.machines
    .list()
    .filter((machine) => isOwnMachine(services, machine.spec) && !isSameCluster(clusterOfMachine(machine), ref))
    // A node that restarts for its update has a reason of its own.
    .filter((machine) => !isInHand(machine))
    .flatMap((machine) => findUnhealthy(machine) ?? []);
  return new Map(
    own.flatMap((one) => {
      const other = others.find((candidate) => isSamePlace(one, candidate) && isSameTime(one, candidate));
      return other ? [[one.machine.metadata.name, describeProblem(one, other)] as const] : [];
    }),
  );
}

const isSamePlace = ({ machine: { spec: a } }: UnhealthyMachine, { machine: { spec: b } }: UnhealthyMachine): boolean =>
  a.providerConfigRef.name === b.providerConfigRef.name && a.failureDomain === b.failureDomain;

const isSameTime = (a: UnhealthyMachine, b: UnhealthyMachine): boolean =>
  Math.abs(a.since.getTime() - b.since.getTime()) <= sameTimeMinutes * 60_000;

function describeProblem({ since }: UnhealthyMachine, { machine }: UnhealthyMachine): SiteProblem {
  const { namespace, name } = clusterOfMachine(machine);
  const message = `The node of Machine ${machine.metadata.name} of Cluster ${namespace}/${name} failed at the same time, so the cause is probably none of the nodes.`;
  return { message, restartAt: addMinutes(since, restartAfterMinutes) };
}
