import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { deadlineSignal, isDeadlineError } from '../../../lib/deadline.ts';
import { TrueNasError } from '../error-codes.ts';
import type { Rpc } from './rpc.ts';
import { CollectionUpdate, TrueNasJob } from './schema.ts';
import type { TrueNasSubscriber } from './subscriber.ts';

/** How to wait for a job, and how to identify it. */
export interface JobWaitOptions {
  readonly signal: AbortSignal;
  readonly seconds: number;
  /** Job ids restart with the middleware: method and first argument identify the job. */
  readonly method: string;
  readonly firstArgument: string;
  /** Called with the progress of the job, from 0 to 100. It must not throw. */
  readonly onProgress?: ((percent: number) => void) | undefined;
}

const pollSeconds = [0.5, 1, 2, 5] as const;
const maxEndedJobs = 200;

/**
 * Waits for jobs of one system by their events. Events are lost when a connection breaks, and a job may end before its
 * id is known here: recent results are remembered, and missing ones are polled.
 */
export class JobEvents {
  readonly #nas: TrueNasSubscriber;
  readonly #clock: Clock;
  readonly #ended = new Map<number, TrueNasJob>();
  readonly #waiting = new Map<number, Set<() => void>>();
  readonly #progress = new Map<number, JobWaitOptions['onProgress']>();
  #subscribed: Rpc | undefined;

  constructor(nas: TrueNasSubscriber, clock: Clock) {
    this.#nas = nas;
    this.#clock = clock;
  }

  /** Subscribes to job events. Call it before the job is started. */
  async subscribe(signal: AbortSignal): Promise<void> {
    const { rpc } = await this.#nas.session(signal);
    if (this.#subscribed === rpc) return;
    await this.#nas.subscribe('core.get_jobs', { signal });
    this.#subscribed = rpc;
  }

  /**
   * Waits until the job has ended. Throws TRUENAS_CALL_FAILED with the job's error when it failed, and
   * TRUENAS_OUTCOME_UNKNOWN when the system no longer knows it.
   */
  async wait(id: number, options: JobWaitOptions): Promise<TrueNasJob> {
    const limited = deadlineSignal(options.seconds, options.signal);
    this.#progress.set(id, options.onProgress);
    try {
      for (let round = 0; ; round += 1) {
        const job = this.#ended.get(id) ?? (round > 0 ? await this.#ask(id, limited) : undefined);
        if (job && hasEnded(job)) return assertJobSucceeded(job, options);
        await this.#eventOrPause(id, pollSeconds[Math.min(round, pollSeconds.length - 1)] ?? 5, limited);
      }
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isDeadlineError(limited.reason)) throw error;
      throw new TrueNasError('DEADLINE_EXCEEDED', `TrueNAS, the job of ${options.method}.`, { cause: error });
    } finally {
      this.#progress.delete(id);
    }
  }

  /** The result of a job, if its event arrived on this connection; undefined: the caller has to poll. Makes no call. */
  endOf(id: number): TrueNasJob | undefined {
    return this.#ended.get(id);
  }

  /** True while any client writes a file in one of the folders. */
  async areWritten(folders: readonly string[], signal: AbortSignal): Promise<boolean> {
    const filters = [
      ['method', '=', 'filesystem.put'],
      ['state', 'in', ['WAITING', 'RUNNING']],
    ];
    const jobs = await this.#nas.read('core.get_jobs', [filters], z.array(TrueNasJob), { signal });
    const paths = jobs.map((job) => String(job.arguments?.[0]));
    return paths.some((path) => folders.some((folder) => path.startsWith(`${folder}/`)));
  }

  /** Handles a notification of the server. */
  receive(method: string, params: unknown): void {
    if (method !== 'collection_update') return;
    const update = CollectionUpdate.safeParse(params);
    if (!update.success || update.data.collection !== 'core.get_jobs') return;
    const job = TrueNasJob.safeParse(update.data.fields);
    if (!job.success) return;
    this.#reportProgress(job.data);
    if (!hasEnded(job.data)) return;
    const { id } = job.data;
    this.#ended.set(id, job.data);
    for (const old of [...this.#ended.keys()].slice(0, -maxEndedJobs)) this.#ended.delete(old);
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  /** The connection ended: job ids and the subscription are not valid on the next one. */
  forget(): void {
    this.#ended.clear();
    this.#subscribed = undefined;
  }

  async #ask(id: number, signal: AbortSignal): Promise<TrueNasJob | undefined> {
    const jobs = await this.#nas.read('core.get_jobs', [[['id', '=', id]]], z.array(TrueNasJob), { signal });
    if (jobs[0]) {
      this.#reportProgress(jobs[0]);
      return jobs[0];
    }
    throw new TrueNasError('TRUENAS_OUTCOME_UNKNOWN', `Job ${id} no longer exists.`);
  }

  #reportProgress(job: TrueNasJob): void {
    if (!hasEnded(job) && typeof job.progress?.percent === 'number') this.#progress.get(job.id)?.(job.progress.percent);
  }

  async #eventOrPause(id: number, seconds: number, signal: AbortSignal): Promise<void> {
    const awoken = new AbortController();
    const wake = () => awoken.abort();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(wake));
    const onAbort = () => awoken.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#clock.sleep(seconds * 1000, awoken.signal);
    } catch (error) {
      if (!awoken.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      waiting.delete(wake);
      if (waiting.size === 0) this.#waiting.delete(id);
    }
    signal.throwIfAborted();
  }
}

const hasEnded = (job: TrueNasJob): boolean => ['SUCCESS', 'FAILED', 'ABORTED'].includes(job.state);

function assertJobSucceeded(job: TrueNasJob, { method, firstArgument }: JobWaitOptions): TrueNasJob {
  const [first] = job.arguments ?? [];
  if (job.method !== method || (first !== undefined && first !== firstArgument)) {
    throw new TrueNasError('TRUENAS_OUTCOME_UNKNOWN', `Job ${job.id} is another job.`);
  }
  if (job.state === 'SUCCESS') return job;
  const message = (job.error ?? 'no reason given').replace(/\s+/g, ' ').slice(0, 300);
  const full = /No space left|ENOSPC|EDQUOT|quota exceeded/i.test(message);
  throw new TrueNasError(full ? 'TRUENAS_POOL_FULL' : 'TRUENAS_CALL_FAILED', `${method} (${job.state}): ${message}.`);
}
