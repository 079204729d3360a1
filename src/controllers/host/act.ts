import { Host, type HostStatus } from '../../api/host.ts';
import { annotations, finalizers } from '../../api/names.ts';
import { keyOf } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { dropFinalizer, saveStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { type Context, findAsker, identify } from './ask.ts';
import type { Decision } from './decide.ts';
import { statusOf } from './standing.ts';
import { strikeAnnotation, walkTask } from './task.ts';
import type { HostSight, Refusal, TaskPlan } from './view.ts';

/** Does what was decided. Undefined: the Host is gone. */
export async function act(
  services: Services,
  sight: HostSight,
  decision: Exclude<Decision, { kind: 'settled' }>,
  run: Context,
): Promise<HostSight | undefined> {
  switch (decision.kind) {
    case 'let-go':
      await dropFinalizer(services.kube, Host, sight.host, finalizers.host, run.signal);
      return undefined;
    case 'free':
      return await free(services, sight, run);
    case 'mark':
      return await mark(services, sight, decision.message, run);
    case 'identify':
      return sight.keeper && { ...sight, identity: await identify(services, sight, sight.keeper, run) };
    case 'walk':
      return await walk(services, sight, decision.plan, run);
    case 'refuse':
      return await refuse(services, sight, decision, run);
  }
}

/** Nobody holds it any more. Who may have it next is found out first. */
async function free(services: Services, sight: HostSight, { signal, log }: Context): Promise<HostSight> {
  const { host } = sight;
  const { machineRef, task: _, ...rest } = statusOf(host);
  const status: HostStatus = { ...rest, state: 'Pending' };
  const written = await saveStatus(services.kube, Host, host, status, signal, { locked: true });
  log.info({ machine: machineRef?.name }, 'the host was taken from a machine that does not use it');
  return { ...sight, host: written ?? host, holder: { kind: 'none' }, isSurplus: false };
}

/** Only over the Host as it was seen: another Machine may hold it by now. */
async function mark(services: Services, sight: HostSight, message: string, { signal }: Context): Promise<HostSight> {
  const { resourceVersion } = sight.host.metadata;
  const patch = { metadata: { annotations: { [annotations.permanentError]: message } } };
  const lock = resourceVersion ? { resourceVersion } : {};
  return { ...sight, host: await services.kube.merge(Host, keyOf(sight.host), patch, lock, signal) };
}

async function walk(
  services: Services,
  sight: HostSight,
  plan: TaskPlan,
  run: Context,
): Promise<HostSight | undefined> {
  if (!sight.keeper) return undefined;
  const asker = findAsker(services, sight.keeper);
  if ('missing' in asker) throw new ProviderError('CREDENTIALS_MISSING', asker.missing);
  return await walkTask(services, sight, plan, asker, run);
}

async function refuse(services: Services, sight: HostSight, refusal: Refusal, { signal }: Context): Promise<HostSight> {
  const { plan, message } = refusal;
  const host = await strikeAnnotation(services, sight.host, plan, signal);
  services.events.record(host, 'Warning', plan === 'inspect' ? 'InspectRefused' : 'RebootRefused', message);
  return { ...sight, host, refusal };
}
