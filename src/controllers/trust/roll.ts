import { Machine } from '../../api/machine.ts';
import type { NamespacedRef } from '../../api/openmcp.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../services.ts';
import {
  applyTo,
  type ControlPlane,
  type Difference,
  type Look,
  lookAt,
  whyIncomplete,
  whyNotHealthy,
} from './control-plane.ts';
import { passSharedAddressOn } from './pass-on.ts';
import { type TrustRecord, toTrust, trustId } from './record.ts';

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** How far the control planes are. */
export interface RollState {
  /** Those that trust what they are to trust, and all of them. */
  readonly updated: number;
  readonly total: number;
  /** What the roll waits for; undefined when nothing is left to do. */
  readonly message: string | undefined;
  /** The Machines as they are now. */
  readonly machines: readonly Machine[];
}

/** Control planes that have joined or are on their way to: others get the trust with their first configuration. */
export const controlPlanesOf = (machines: readonly Machine[]): Machine[] =>
  machines.filter(({ spec, metadata }) => spec.role === 'controlplane' && !metadata.deletionTimestamp);

/** Whether any control plane was not seen with this trust yet. */
export const isRollDue = (machines: readonly Machine[], record: TrustRecord): boolean =>
  controlPlanesOf(machines).some(({ status }) => status?.trust !== trustId(record));

/**
 * Brings the running control planes to trust these issuers, one at a time and by one look or change in each call, so that
 * the API stays available, at the address that they share as well. Everything is seen on the nodes themselves: whoever is interrupted, and whoever follows, goes on
 * from there. A node is changed only while all others are whole.
 */
export async function rollTrust(
  services: Services,
  cluster: NamespacedRef,
  machines: readonly Machine[],
  record: TrustRecord,
  context: Context,
): Promise<RollState> {
  const planes = controlPlanesOf(machines);
  const looks = await lookAtAll(services, cluster, planes, record, context.signal);
  const current = await noteAll(services, machines, looks, trustId(record), context);
  const state = {
    updated: planes.length - looks.filter(({ look }) => look.kind !== 'trusts').length,
    machines: current,
  };
  const message = await changeNext(services.clock, looks, planes.length, context);
  return { ...state, total: planes.length, message };
}

interface Seen {
  readonly plane: ControlPlane;
  readonly look: Look;
}

async function lookAtAll(
  services: Services,
  cluster: NamespacedRef,
  planes: readonly Machine[],
  record: TrustRecord,
  signal: AbortSignal,
): Promise<Seen[]> {
  const [trust, id] = [toTrust(record.entries), trustId(record)];
  return await Promise.all(
    planes.map(async (machine): Promise<Seen> => {
      const address = String(machine.status?.progress?.facts['address'] ?? '');
      const plane = { services, cluster, machine, address, signal };
      if (machine.status?.trust === id) return { plane, look: { kind: 'trusts' } };
      if (address === '') return { plane, look: { kind: 'silent', message: 'it is being made' } };
      return { plane, look: await lookAt(plane, trust) };
    }),
  );
}

/** Writes down on the Machines what was seen, so that nobody has to ask again. */
async function noteAll(
  { kube }: Services,
  machines: readonly Machine[],
  looks: readonly Seen[],
  trust: string,
  { signal, log }: Context,
): Promise<Machine[]> {
  const fresh = new Map<string, Machine>();
  for (const { plane, look } of looks) {
    const { name } = plane.machine.metadata;
    if (look.kind !== 'trusts' || plane.machine.status?.trust === trust) continue;
    fresh.set(name, await kube.merge(Machine, { name }, { status: { trust } }, { subresource: 'status' }, signal));
    log.info({ machine: name, trust }, 'control plane trusts the OIDC issuers it is to trust');
  }
  return machines.map((machine) => fresh.get(machine.metadata.name) ?? machine);
}

/** Changes at most one. Says what is waited for; nothing when there is nothing left to do. */
async function changeNext(
  clock: Clock,
  looks: readonly Seen[],
  count: number,
  context: Context,
): Promise<string | undefined> {
  const waiting = looks.find(({ look }) => look.kind === 'waits') ?? looks.find(({ look }) => look.kind === 'silent');
  let obstacle = waiting && describe(waiting.plane, waiting.look);
  for (const { plane, look } of inTurn(looks)) {
    const others = looks.filter((other) => other.plane !== plane);
    const why = await whyNotNow(plane, others, count);
    if (why === undefined) return await change(clock, plane, look, others, context);
    obstacle ??= why;
  }
  return obstacle;
}

/** Those that are to be changed. Whoever holds the shared address is last, so that it changes hands once. */
function inTurn(looks: readonly Seen[]): (Seen & { readonly look: Difference })[] {
  const differing = looks.filter((seen): seen is Seen & { look: Difference } => seen.look.kind === 'differs');
  const rank = ({ look }: { look: Difference }): number => (look.sharedAddress.kind === 'held' ? 1 : 0);
  return differing.sort((a, b) => rank(a) - rank(b));
}

async function change(
  clock: Clock,
  plane: ControlPlane,
  look: Difference,
  others: readonly Seen[],
  { log }: Context,
): Promise<string> {
  const name = plane.machine.metadata.name;
  const successors = others.map((other) => other.plane);
  const refusal =
    (await passSharedAddressOn({ clock, log }, plane, look.sharedAddress, successors)) ??
    (await applyTo(plane, look.config));
  if (refusal !== undefined) return `${name}: ${refusal}.`;
  log.info({ machine: name }, 'control plane was told which OIDC issuers to trust');
  return `${name}: its API server restarts.`;
}

/** Why a node may not be changed now: with it and another one away, the API could be away. */
async function whyNotNow(plane: ControlPlane, others: readonly Seen[], count: number): Promise<string | undefined> {
  const restless = others.find(({ look }) => look.kind === 'waits' || look.kind === 'silent');
  if (restless) return describe(restless.plane, restless.look);
  for (const other of others) {
    const why = await whyNotHealthy(other.plane);
    if (why !== undefined) return `${other.plane.machine.metadata.name}: ${why}.`;
  }
  const [witness] = others;
  const incomplete = witness && (await whyIncomplete(witness.plane, count));
  return incomplete === undefined ? undefined : `${plane.machine.metadata.name}: ${incomplete}.`;
}

const describe = ({ machine }: ControlPlane, look: Look): string =>
  `${machine.metadata.name}: ${'message' in look ? look.message : 'it is being looked at'}.`;
