import { Host, type HostStatus } from '../../api/host.ts';
import { annotations } from '../../api/names.ts';
import { advance, type Progress } from '../../engine/advance.ts';
import type { HostContext } from '../../engine/host.ts';
import { isConflict, isPassing } from '../../kube/errors.ts';
import { keyOf } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { saveStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { type Asker, type Context, contextOf } from './ask.ts';
import { tellChange } from './events.ts';
import { statusOf } from './standing.ts';
import { type HostSight, isAsked, type TaskPlan } from './view.ts';

/**
 * Walks the steps of what a person asked for. That it has begun stands in the status before its first step runs, written
 * over the Host as it was read: whoever claimed it meanwhile has it, and a Host with a task is not claimed.
 */
export async function walkTask(
  services: Services,
  sight: HostSight,
  plan: TaskPlan,
  asker: Asker,
  run: Context,
): Promise<HostSight> {
  const paper = new Paper(services, sight.host, run.signal);
  const { platform, inventory } = asker.keeper;
  // Steps go by what its provider says of the server, and add to it.
  if (sight.identity && 'server' in sight.identity) await paper.write({ server: sight.identity.server });
  const verdict = await advance<HostContext, TaskPlan>({
    plan,
    steps: inventory[plan],
    progress: taskOf(sight.host),
    context: (facts) => ({
      ...contextOf(services, asker, paper.host, run),
      facts,
      note: ({ state: _, server, hardware }) =>
        paper.write({ ...(server && { server }), ...(hardware && { hardware }) }),
    }),
    save: async (progress) => {
      await paper.write({ task: { ...progress, facts: { ...progress.facts } } });
      await paper.strike(plan);
    },
    observer: (step, end, seconds) => services.observer.step({ platform: platform.name, plan, step }, end, seconds),
    // What is noted is written where the record is kept.
    concernsRecord: (error) => isPassing(error) || isConflict(error),
    clock: services.clock,
    signal: run.signal,
  });
  tellError(verdict, run);
  return { ...sight, host: paper.host, verdict };
}

function tellError(verdict: HostSight['verdict'], { log }: Context): void {
  if (verdict?.kind !== 'error') return;
  const { error, progress } = verdict;
  if (error instanceof ProviderError)
    log.warn({ step: progress.step, code: error.code, failures: progress.failures }, 'step failed, is tried again');
  else log.error({ step: progress.step, error }, 'step failed by a fault of ours');
}

function taskOf(host: Host): Progress<TaskPlan> | undefined {
  const { task } = statusOf(host);
  // Facts are written by us alone and only ever hold texts, numbers and truth values.
  return task && ({ ...task } as Progress<TaskPlan>);
}

/** The Host in hand, kept in step with what is written to it. */
class Paper {
  readonly #services: Services;
  readonly #signal: AbortSignal;
  host: Host;

  constructor(services: Services, host: Host, signal: AbortSignal) {
    this.#services = services;
    this.#signal = signal;
    this.host = host;
  }

  /** Throws a conflict when somebody else wrote since. */
  async write(change: Partial<HostStatus>): Promise<void> {
    const status: HostStatus = { ...statusOf(this.host), ...change };
    const { kube, events } = this.#services;
    const written = await saveStatus(kube, Host, this.host, status, this.#signal, { locked: true });
    tellChange(events, this.host, status);
    this.host = written ?? this.host;
  }

  /** Takes off the annotation that asked for what has begun. */
  async strike(plan: TaskPlan): Promise<void> {
    if (!isAsked(this.host, plan)) return;
    this.host = await strikeAnnotation(this.#services, this.host, plan, this.#signal);
  }
}

/** Takes off the annotation that asked for something. */
export async function strikeAnnotation(
  { kube }: Services,
  host: Host,
  plan: TaskPlan,
  signal: AbortSignal,
): Promise<Host> {
  const patch = { metadata: { annotations: { [annotations[plan]]: null } } };
  return await kube.merge(Host, keyOf(host), patch, {}, signal);
}
