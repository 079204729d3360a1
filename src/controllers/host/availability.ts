import type { Condition, ConditionType } from '../../api/conditions.ts';
import { type Host, HostSpec, type HostStatus } from '../../api/host.ts';
import { annotations } from '../../api/names.ts';
import { findHostSection } from '../../api/schema/host-sections.ts';
import type { HostState, HostStatusUpdate, HostView } from '../../engine/host.ts';
import { memoizeByObject } from '../../lib/memoize-by-object.ts';

/** The status of a Host that was not reconciled yet. */
const initialStatus: HostStatus = { observedGeneration: 0, state: 'Pending', conditions: [] };

export const hostStatusOf = (host: Host): HostStatus => host.status ?? initialStatus;

/** The error after which only a user can release the Host. */
export const permanentErrorOf = ({ metadata }: Host): string | undefined =>
  metadata.annotations?.[annotations.permanentError];

/** Objects in a cache are immutable, so each spec is parsed once, however many Machines search for a Host. */
const parseHostSpec = memoizeByObject((spec: Host['spec']) => HostSpec.safeParse(spec));

/** The Host in the form that its platform uses; undefined if this version does not accept its spec. */
export function toHostView(host: Host): HostView | undefined {
  const { data: spec } = parseHostSpec(host.spec);
  const given = spec && findHostSection(spec);
  if (!given) return undefined;
  const { state, server, hardware, ...status } = hostStatusOf(host);
  const { name, labels = {} } = host.metadata;
  const platformStatus = (status as Readonly<Record<string, unknown>>)[given.name];
  return { name, labels, spec, platformSpec: given.section, state, server, hardware, platformStatus };
}

/** Why this version does not accept the spec of a Host, by field. */
export const describeInvalidSpec = (host: Host): string => {
  const issues = parseHostSpec(host.spec).error?.issues ?? [];
  const faults = issues.map(({ path, message }) => `${['spec', ...path].join('.')}: ${message}`);
  return `The spec is not valid. ${faults.join('; ')}. Correct it.`;
};

/** The fields of a Host's status that a platform changes. */
export function toStatusFields({ spec }: Host, { platformStatus, ...fields }: HostStatusUpdate): Partial<HostStatus> {
  const platform = findHostSection(spec)?.name;
  return { ...fields, ...(platform !== undefined && platformStatus && { [platform]: platformStatus }) };
}

/** The use of a Host as a sentence. `holder`: name of the Machine that holds it. */
export const describeHostUse = (state: HostState, holder?: string): string =>
  holder === undefined ? 'Free.' : `${state} for Machine ${holder}.`;

export const maintenanceMessage = 'spec.maintenance: it is kept out of use.';

/** The state after the release of a Host, and the reason. */
export function stateAfterRelease(host: Host): Pick<HostStatus, 'state' | 'message'> {
  const { status: identified = 'Unknown', message = '' } = hostConditionOf(host, 'Identified') ?? {};
  const state = stateWithoutHolder(host, identified);
  if (state === 'Available') return { state, message: describeHostUse(state) };
  return { state, message: permanentErrorOf(host) ?? (state === 'Maintenance' ? maintenanceMessage : message) };
}

const hostConditionOf = (host: Host, wanted: ConditionType): Condition | undefined =>
  hostStatusOf(host).conditions.find(({ type }) => type === wanted);

/** The state of a Host without a holder. It depends on whether its server is identified. */
export function stateWithoutHolder(host: Host, identified: Condition['status']): HostState {
  if (permanentErrorOf(host) !== undefined) return 'Failed';
  if (host.spec.maintenance) return 'Maintenance';
  if (identified === 'Unknown') return 'Pending';
  return identified === 'True' ? 'Available' : 'Failed';
}

/** The reasons why a Host is not available, in order of priority. Each text follows a number. */
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

/** Why a Machine cannot claim the Host; undefined if it is available. */
export const unavailableReasonOf = (host: Host): string | undefined =>
  unavailabilityChecks.find(([, applies]) => applies(host))?.[0];
export const isHostAvailable = (host: Host): boolean => unavailableReasonOf(host) === undefined;

/**
 * The Host that counts among several for the same server: a claimed one, otherwise the oldest. Without this rule a
 * second Machine could get the same server.
 */
export const choosePrimaryHost = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.machineRef === undefined) - Number(b.status?.machineRef === undefined) ||
      compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compareText(a.metadata.name, b.metadata.name),
  )[0];

/**
 * The Host that a Machine holds, among those with its claim. Two claims exist if a late write of a former leader
 * arrives after its successor has claimed another Host: the later claim is in use.
 */
export const chooseHeldHost = (hosts: readonly Host[]): Host | undefined =>
  [...hosts].sort(
    (a, b) =>
      Number(a.status?.state === 'Claimed') - Number(b.status?.state === 'Claimed') ||
      compareText(b.status?.machineRef?.since, a.status?.machineRef?.since) ||
      compareText(a.metadata.name, b.metadata.name),
  )[0];

const compareText = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
