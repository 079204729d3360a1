import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { isOwnMachine } from '../../controllers/cluster/identity.ts';
import type { ConsoleLink } from '../../engine/capabilities/console.ts';
import type { Facts } from '../../engine/step.ts';
import type { ConditionJson, EventJson, MachineJson, MachineRowJson } from '../api-types.ts';
import { isOverdue, machineCause } from './cluster-health.ts';
import { type StatusSources, shorten } from './status-sources.ts';
import { describeCurrentPlan, describePlans } from './step-plans.ts';

/** More conditions than any of our kinds has. */
const maxConditions = 32;

/** The Machine of this provider with this name. */
export function findOwnMachine(sources: StatusSources, name: string): Machine | undefined {
  const machine = sources.stores.machines.get({ name });
  return machine && isOwnMachine(sources, machine.spec) ? machine : undefined;
}

/** A machine with all of its steps. */
export function buildMachineJson(sources: StatusSources, machine: Machine, events: readonly EventJson[]): MachineJson {
  const { current: _, ...row } = toMachineRow(sources, machine);
  const { metadata, spec, status } = machine;
  const [host] = sources.stores.hosts.by('machine', metadata.uid ?? '');
  return {
    ...row,
    cluster: { namespace: spec.clusterRef.namespace, name: spec.clusterRef.name },
    config: spec.providerConfigRef.name,
    platform: spec.platform,
    size: spec.size,
    ...(spec.failureDomain ? { failureDomain: spec.failureDomain } : {}),
    ...(metadata.creationTimestamp ? { createdAt: metadata.creationTimestamp } : {}),
    ...(host ? { host: host.metadata.name } : {}),
    conditions: toConditions(status?.conditions),
    plans: describePlans(sources, machine),
    consoles: findConsoles(sources, machine).map(({ name, url }) => ({ name, url })),
    events,
  };
}

/** A machine as a line of its cluster. */
export function toMachineRow(sources: StatusSources, machine: Machine): MachineRowJson {
  const { metadata, spec, status } = machine;
  const cause = machineCause(machine);
  const current = describeCurrentPlan(sources, machine);
  const { talosVersion, kubernetesVersion } = status?.applied ?? {};
  return {
    name: metadata.name,
    role: spec.role,
    pool: spec.pool,
    phase: status?.phase ?? '',
    ...(status?.address ? { address: status.address } : {}),
    isReady: isConditionTrue(status?.conditions, 'Ready'),
    ...(cause ? { cause } : {}),
    isOverdue: isOverdue(machine),
    message: shorten(status?.message ?? ''),
    ...(talosVersion ? { talosVersion } : {}),
    ...(kubernetesVersion ? { kubernetesVersion } : {}),
    ...(status?.pending ? { pending: status.pending.class } : {}),
    ...(current ? { current } : {}),
  };
}

export const toConditions = (conditions: NonNullable<Machine['status']>['conditions'] | undefined): ConditionJson[] =>
  (conditions ?? []).slice(0, maxConditions).map(({ type, status, reason, message, lastTransitionTime }) => ({
    ...{ type, status, reason },
    message: shorten(message),
    since: lastTransitionTime,
  }));

/** None while the ProviderConfig does not exist, or its section no longer names the system of the machine. */
function findConsoles({ stores, platforms }: StatusSources, { spec, status }: Machine): readonly ConsoleLink[] {
  const config = stores.providerConfigs.get({ name: spec.providerConfigRef.name });
  const platform = platforms.find(({ name }) => name === spec.platform);
  const section = (config?.spec as Readonly<Record<string, unknown>> | undefined)?.[spec.platform];
  if (!platform || section === undefined) return [];
  try {
    const links = platform.consoleLinks(section, spec.failureDomain, (status?.progress?.facts ?? {}) as Facts);
    return links.filter(({ url }) => url.startsWith('https://'));
  } catch {
    // The controllers report an invalid section.
    return [];
  }
}
