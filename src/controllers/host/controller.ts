import { Host } from '../../api/host.ts';
import { finalizers } from '../../api/names.ts';
import type { Result } from '../../kube/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { act } from './act.ts';
import type { Context } from './ask.ts';
import { decide } from './decide.ts';
import { describeStatus, taskLeft, wordsOf } from './describe.ts';
import { tellChange } from './events.ts';
import { statusOf } from './standing.ts';
import { type HostSight, isAsked, look, taskPlans } from './view.ts';

/** How often the provider of a server that rests is asked for it. */
const restSeconds = 600;
/** While it could not be asked, or something else is waited for. */
const waitSeconds = 60;

/** Says how a Host stands, and does what people ask for by annotations. Machines claim it and let it go by themselves. */
export async function reconcileHost(services: Services, key: ObjectKey, context: Context): Promise<Result> {
  const seen = services.stores.hosts.get(key);
  // The record of a task must never be older than what we wrote ourselves.
  const found = seen && !isAtRest(seen) ? await services.kube.find(Host, key, context.signal) : seen;
  if (!found) return {};
  const sight = await look(services, found, context.signal);
  if (!sight) return {};
  const { operation, object: host } = await takeOperation(services.kube, Host, found, context.signal);
  if (operation === 'ignore') return {};
  const held = await hold(services, { ...sight, host }, context);
  return held ? await settle(services, held, context) : {};
}

const isAtRest = (host: Host): boolean =>
  !host.metadata.deletionTimestamp && !statusOf(host).task && !taskPlans.some((plan) => isAsked(host, plan));

async function hold({ kube }: Services, sight: HostSight, { signal }: Context): Promise<HostSight | undefined> {
  const { host, keeper } = sight;
  if (host.metadata.deletionTimestamp || !keeper) return sight;
  const held = await ensureFinalizer(kube, Host, host, finalizers.host, signal);
  return held && { ...sight, host: held };
}

/** Walks decision by decision until nothing more can be done now, then says how it stands. */
async function settle(services: Services, first: HostSight, context: Context): Promise<Result> {
  let sight = first;
  for (let decision = decide(sight); decision.kind !== 'settled'; decision = decide(sight)) {
    const next = await act(services, sight, decision, context);
    if (!next) return {};
    sight = next;
  }
  const { host } = sight;
  const status = describeStatus(sight, services.clock.now());
  const changed = await writeStatus(services.kube, Host, host, status, context.signal, { locked: true });
  if (changed) tellChange(services.events, host, status);
  tellEnd(services, sight);
  return { againInSeconds: againInSeconds(sight) };
}

function tellEnd({ events }: Services, sight: HostSight): void {
  const { host, verdict } = sight;
  if (!verdict || taskLeft(sight)) return;
  const [done, failed] =
    verdict.progress.plan === 'inspect' ? ['Inspected', 'InspectFailed'] : ['Rebooted', 'RebootFailed'];
  if (verdict.kind === 'finished') events.record(host, 'Normal', done, 'It was done as asked for.');
  else events.record(host, 'Warning', failed, wordsOf(sight));
}

function againInSeconds(sight: HostSight): number {
  const { host, identity, verdict } = sight;
  if (verdict && verdict.kind !== 'finished' && taskLeft(sight)) return verdict.seconds;
  const waits = (identity && 'unasked' in identity) || taskPlans.some((plan) => isAsked(host, plan));
  return waits ? waitSeconds : restSeconds;
}
