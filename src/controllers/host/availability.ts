import type { Condition, ConditionType } from '../../api/conditions.ts';
import { type Host, HostSpec, type HostStatus } from '../../api/host.ts';
import { annotations } from '../../api/names.ts';
import type { HostState, HostView } from '../../engine/capabilities/hosts.ts';

/** The status of a Host that nobody has looked at. */
const initialStatus: HostStatus = { observedGeneration: 0, state: 'Pending', conditions: [] };

export const hostStatusOf = (host: Host): HostStatus => host.status ?? initialStatus;

/** Why only a person can decide what becomes of it. */
export const permanentErrorOf = ({ metadata }: Host): string | undefined =>
  metadata.annotations?.[annotations.permanentError];

/** Objects that were read are never changed in place: each is parsed once, however many Machines look for a Host. */
const parsedSpecs = new WeakMap<object, ReturnType<typeof HostSpec.safeParse>>();

/** As platforms see it; undefined where its spec is one that this version does not accept. */
export function toHostView(host: Host): HostView | undefined {
  const spec = parsedSpecs.get(host.spec) ?? HostSpec.safeParse(host.spec);
  parsedSpecs.set(host.spec, spec);
  if (!spec.success) return undefined;
  const { state, server, hardware } = hostStatusOf(host);
  const { name, labels = {} } = host.metadata;
  return { name, labels, spec: spec.data, state, server, hardware };
}

/** What it is used for, in a sentence. `holder`: name of the Machine that holds it. */
export const describeHostUse = (state: HostState, holder?: string): string =>
  holder === undefined ? 'Free.' : `${state} for Machine ${holder}.`;

export const maintenanceMessage = 'spec.maintenance: it is kept out of use.';

/** What it is as soon as no Machine holds it any more, and why. */
export function stateAfterRelease(host: Host): Pick<HostStatus, 'state' | 'message'> {
  const { status: identified = 'Unknown', message = '' } = hostConditionOf(host, 'Identified') ?? {};
  const state = stateWithoutHolder(host, identified);
  if (state === 'Available') return { state, message: describeHostUse(state) };
  return { state, message: permanentErrorOf(host) ?? (state === 'Maintenance' ? maintenanceMessage : message) };
}

const hostConditionOf = (host: Host, wanted: ConditionType): Condition | undefined =>
  hostStatusOf(host).conditions.find(({ type }) => type === wanted);

/** What it is when no Machine holds it, by whether its server is known to be the right one. */
export function stateWithoutHolder(host: Host, identified: Condition['status']): HostState {
  if (permanentErrorOf(host) !== undefined) return 'Failed';
  if (host.spec.maintenance) return 'Maintenance';
  if (identified === 'Unknown') return 'Pending';
  return identified === 'True' ? 'Available' : 'Failed';
}

/** Why it is not free, in the order in which the reasons are told. They go on after a number. */
const unavailabilityChecks: readonly (readonly [reason: string, stands: (host: Host) => boolean])[] = [
  ['held by another machine', (host) => hostStatusOf(host).machineRef !== undefined],
  ['being deleted', ({ metadata }) => metadata.deletionTimestamp !== undefined],
  ['in maintenance', (host) => host.spec.maintenance || hostStatusOf(host).state === 'Maintenance'],
  ['without a disk that may be used', (host) => hostConditionOf(host, 'Usable')?.reason === 'NoUsableDisk'],
  ['failed', (host) => permanentErrorOf(host) !== undefined || hostStatusOf(host).state === 'Failed'],
  ['being inspected or rebooted', (host) => hostStatusOf(host).task !== undefined],
  ['not looked at yet', (host) => hostStatusOf(host).state !== 'Available'],
];
export const unavailableReasons = unavailabilityChecks.map(([reason]) => reason);

/** Why a Machine cannot have it; undefined: it is free. */
export const unavailableReasonOf = (host: Host): string | undefined =>
  unavailabilityChecks.find(([, stands]) => stands(host))?.[0];
export const isHostAvailable = (host: Host): boolean => unavailableReasonOf(host) === undefined;

/**
 * The one of these Hosts of the same server that counts: one that is held, else the oldest. With the others a second
 * Machine could be given the same server.
 */
export const choosePrimaryHost = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.machineRef === undefined) - Number(b.status?.machineRef === undefined) ||
      compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compareText(a.metadata.name, b.metadata.name),
  )[0];

/**
 * The one that a Machine holds, out of those that say so. There are two when a claim of a process that led no longer
 * arrived after its successor had made another: what was gone on with is the later one.
 */
export const chooseHeldHost = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.state === 'Claimed') - Number(b.status?.state === 'Claimed') ||
      compareText(b.status?.machineRef?.since, a.status?.machineRef?.since) ||
      compareText(a.metadata.name, b.metadata.name),
  )[0];

const compareText = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
