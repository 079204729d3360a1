import type { Condition, ConditionType } from '../../api/conditions.ts';
import { type Host, HostSpec, type HostStatus } from '../../api/host.ts';
import { annotations } from '../../api/names.ts';
import type { HostState, HostView } from '../../engine/host.ts';

/** The status of a Host that nobody has looked at. */
const unseen: HostStatus = { observedGeneration: 0, state: 'Pending', conditions: [] };

export const statusOf = (host: Host): HostStatus => host.status ?? unseen;

/** Why only a person can decide what becomes of it. */
export const permanentErrorOf = ({ metadata }: Host): string | undefined =>
  metadata.annotations?.[annotations.permanentError];

/** Objects that were read are never changed in place: each is parsed once, however many Machines look for a Host. */
const parsed = new WeakMap<object, ReturnType<typeof HostSpec.safeParse>>();

/** As platforms see it; undefined where its spec is one that this version does not accept. */
export function toView(host: Host): HostView | undefined {
  const spec = parsed.get(host.spec) ?? HostSpec.safeParse(host.spec);
  parsed.set(host.spec, spec);
  if (!spec.success) return undefined;
  const { state, server, hardware } = statusOf(host);
  const { name, labels = {} } = host.metadata;
  return { name, labels, spec: spec.data, state, server, hardware };
}

/** What it is used for, in a sentence. `holder`: name of the Machine that holds it. */
export const describeUse = (state: HostState, holder?: string): string =>
  holder === undefined ? 'Free.' : `${state} for Machine ${holder}.`;

export const keptOut = 'spec.maintenance: it is kept out of use.';

/** What it is as soon as no Machine holds it any more, and why. */
export function rested(host: Host): Pick<HostStatus, 'state' | 'message'> {
  const { status: identified = 'Unknown', message = '' } = conditionOf(host, 'Identified') ?? {};
  const state = restingState(host, identified);
  if (state === 'Available') return { state, message: describeUse(state) };
  return { state, message: permanentErrorOf(host) ?? (state === 'Maintenance' ? keptOut : message) };
}

const conditionOf = (host: Host, wanted: ConditionType): Condition | undefined =>
  statusOf(host).conditions.find(({ type }) => type === wanted);

/** What it is when no Machine holds it, by whether its server is known to be the right one. */
export function restingState(host: Host, identified: Condition['status']): HostState {
  if (permanentErrorOf(host) !== undefined) return 'Failed';
  if (host.spec.maintenance) return 'Maintenance';
  if (identified === 'Unknown') return 'Pending';
  return identified === 'True' ? 'Available' : 'Failed';
}

/** Why it is not free, in the order in which the reasons are told. They go on after a number. */
const obstacles: readonly (readonly [reason: string, stands: (host: Host) => boolean])[] = [
  ['held by another machine', (host) => statusOf(host).machineRef !== undefined],
  ['being deleted', ({ metadata }) => metadata.deletionTimestamp !== undefined],
  ['in maintenance', (host) => host.spec.maintenance || statusOf(host).state === 'Maintenance'],
  ['without a disk that may be used', (host) => conditionOf(host, 'Usable')?.reason === 'NoUsableDisk'],
  ['failed', (host) => permanentErrorOf(host) !== undefined || statusOf(host).state === 'Failed'],
  ['being inspected or rebooted', (host) => statusOf(host).task !== undefined],
  ['not looked at yet', (host) => statusOf(host).state !== 'Available'],
];
export const obstacleNames = obstacles.map(([reason]) => reason);

/** Why a Machine cannot have it; undefined: it is free. */
export const whyNotFree = (host: Host): string | undefined => obstacles.find(([, stands]) => stands(host))?.[0];
export const isFree = (host: Host): boolean => whyNotFree(host) === undefined;

/**
 * The one of these Hosts of the same server that counts: one that is held, else the oldest. With the others a second
 * Machine could be given the same server.
 */
export const firstOfServer = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.machineRef === undefined) - Number(b.status?.machineRef === undefined) ||
      compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compare(a.metadata.name, b.metadata.name),
  )[0];

/**
 * The one that a Machine holds, out of those that say so. There are two when a claim of a process that led no longer
 * arrived after its successor had made another: what was gone on with is the later one.
 */
export const heldOf = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.state === 'Claimed') - Number(b.status?.state === 'Claimed') ||
      compare(b.status?.machineRef?.since, a.status?.machineRef?.since) ||
      compare(a.metadata.name, b.metadata.name),
  )[0];

const compare = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
