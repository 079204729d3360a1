import { toExtendedJsonDate } from '../nas-state.ts';
import type { CollectionEvents } from '../protocol/collection-events.ts';
import { ArgumentsError, CallError, PythonException } from './errors.ts';
import type { Entry } from './query.ts';

/** The state of a job. */
export type JobState = 'WAITING' | 'RUNNING' | 'SUCCESS' | 'FAILED' | 'ABORTED';

/** The functions that a job body may use. */
export interface JobHandle {
  readonly id: number;
  /** Aborts when the job is aborted, or forgotten by a restart. */
  readonly signal: AbortSignal;
  progress(percent: number, description?: string): void;
}

/** A job as the queue stores it. */
export interface QueuedJob extends JobHandle {
  readonly method: string;
  readonly arguments: unknown;
  readonly owner: string | undefined;
  readonly abortable: boolean;
  state: JobState;
  result: unknown;
  failure: unknown;
  /** Resolves when the job has ended, with any result. */
  readonly ended: Promise<void>;
  abort(): void;
}

/** The options of a new job. */
export interface JobRequest {
  readonly method: string;
  readonly arguments: unknown;
  readonly owner: string | undefined;
  readonly messageId: unknown;
  readonly abortable: boolean;
  /** A second job with the same lock waits for the first. */
  readonly lock: string | undefined;
}

/** The middleware's job queue. It keeps the last 1000 jobs and counts from 1 again after a restart. */
export class JobQueue {
  readonly #events: CollectionEvents;
  #jobs = new Map<number, QueuedJob & { readonly entry: () => Entry }>();
  #locks = new Map<string, Promise<void>>();
  #failures: { method: string; error: CallError }[] = [];
  #hangs: { method: string; until: Promise<void> }[] = [];
  #next = 1;

  constructor(events: CollectionEvents) {
    this.#events = events;
  }

  start(request: JobRequest, body: (job: JobHandle) => Promise<unknown>): QueuedJob {
    const job = this.#create(request, body);
    this.#jobs.set(job.id, job);
    for (const id of this.#jobs.keys()) {
      if (this.#jobs.size <= 1000) break;
      this.#jobs.delete(id);
    }
    this.#tell('added', job);
    return job;
  }

  find(id: number): QueuedJob | undefined {
    return this.#jobs.get(id);
  }

  /** Entries of `core.get_jobs`, for one user or (undefined) all. */
  entries(owner: string | undefined): Entry[] {
    const visible = [...this.#jobs.values()].filter((job) => owner === undefined || job.owner === owner);
    return visible.map((job) => job.entry());
  }

  /** The next job of this method fails with this error instead of doing its work. */
  failNext(method: string, error: CallError): void {
    this.#failures.push({ method, error });
  }

  /** The next job of this method stays RUNNING without doing its work, until it is released, aborted or forgotten. */
  hangNext(method: string): () => void {
    let letGo = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    this.#hangs.push({ method, until });
    return letGo;
  }

  /** A restart of the middleware removes all jobs. */
  forget(): void {
    for (const job of this.#jobs.values()) job.abort();
    this.#jobs = new Map();
    this.#locks = new Map();
    this.#next = 1;
  }

  #tell(msg: 'added' | 'changed', job: QueuedJob & { readonly entry: () => Entry }): void {
    if (this.#jobs.get(job.id) !== job) return;
    const owner = job.owner === undefined ? {} : { owner: job.owner };
    this.#events.emit({ collection: 'core.get_jobs', msg, id: job.id, fields: job.entry(), ...owner });
  }

  #create(
    request: JobRequest,
    body: (job: JobHandle) => Promise<unknown>,
  ): QueuedJob & { readonly entry: () => Entry } {
    const id = this.#next++;
    const abort = new AbortController();
    const progress = { percent: 0, description: '', extra: null };
    const startedAt = new Date();
    let finishedAt: Date | null = null;
    const before = request.lock === undefined ? undefined : this.#locks.get(request.lock);

    const run = async (): Promise<void> => {
      await before;
      if (abort.signal.aborted) {
        job.state = 'ABORTED';
      } else {
        job.state = 'RUNNING';
        this.#tell('changed', job);
        await this.#attempt(job, body);
      }
      finishedAt = new Date();
      this.#tell('changed', job);
    };
    const job: QueuedJob & { readonly entry: () => Entry } = {
      id,
      signal: abort.signal,
      method: request.method,
      arguments: request.arguments,
      owner: request.owner,
      abortable: request.abortable,
      state: 'WAITING',
      result: null,
      failure: undefined,
      abort: () => abort.abort(),
      progress: (percent, description = progress.description) => {
        Object.assign(progress, { percent: Math.floor(percent), description });
        this.#tell('changed', job);
      },
      entry: () => describeJob(job, request.messageId, progress, { startedAt, finishedAt }),
      ended: Promise.resolve().then(run),
    };
    if (request.lock !== undefined) this.#locks.set(request.lock, job.ended);
    return job;
  }

  async #hang(job: QueuedJob): Promise<void> {
    const planned = this.#hangs.findIndex(({ method }) => method === job.method);
    const [hang] = planned < 0 ? [] : this.#hangs.splice(planned, 1);
    if (hang) await Promise.race([hang.until, aborted(job.signal)]);
  }

  async #attempt(job: QueuedJob, body: (job: JobHandle) => Promise<unknown>): Promise<void> {
    const planned = this.#failures.findIndex(({ method }) => method === job.method);
    try {
      if (planned >= 0) throw this.#failures.splice(planned, 1)[0]?.error;
      await this.#hang(job);
      job.result = (await body(job)) ?? null;
      job.state = 'SUCCESS';
      job.progress(100, '');
    } catch (error) {
      job.state = job.signal.aborted ? 'ABORTED' : 'FAILED';
      if (job.state === 'FAILED') job.failure = error;
    }
  }
}

/** Rejects with the signal's reason when it aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Fields that models of the middleware declare as secret are shown as asterisks. */
const maskSecrets = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, one) =>
      ['passphrase', 'key'].includes(name) && typeof one === 'string' ? '********' : one,
    ),
  );

/** The entry of a job in `core.get_jobs` and in events. */
function describeJob(
  job: QueuedJob,
  messageId: unknown,
  progress: Entry,
  { startedAt, finishedAt }: { startedAt: Date; finishedAt: Date | null },
): Entry {
  const data = { username: job.owner, login_at: toExtendedJsonDate(startedAt) };
  return {
    id: job.id,
    message_ids: messageId === undefined || messageId === null ? [] : [messageId],
    method: job.method,
    arguments: maskSecrets(job.arguments),
    transient: false,
    description: null,
    abortable: job.abortable,
    logs_path: null,
    logs_excerpt: null,
    progress: { ...progress },
    result: job.state === 'SUCCESS' ? job.result : null,
    result_encoding_error: null,
    ...describeFailure(job.failure),
    state: job.state,
    time_started: toExtendedJsonDate(startedAt),
    time_finished: toExtendedJsonDate(finishedAt),
    credentials: job.owner === undefined ? null : { type: 'API_KEY', data },
  };
}

function describeFailure(failure: unknown): Entry {
  if (failure === undefined) return { error: null, exception: null, exc_info: null };
  if (failure instanceof CallError) return failureEntry(failure.reason, 'CallError', failure.errno, failure.extra);
  if (failure instanceof ArgumentsError) return failureEntry(failure.reason, 'VALIDATION', null, failure.refusals);
  if (failure instanceof PythonException) return failureEntry(failure.message, failure.name, null, null);
  return failureEntry(failure instanceof Error ? failure.message : String(failure), 'OSError', null, null);
}

function failureEntry(error: string, type: string, errno: number | null, extra: unknown): Entry {
  return {
    error,
    exception: `Traceback (most recent call last):\n${type}: ${error}\n`,
    exc_info: { repr: `${type}(${JSON.stringify(error)})`, type, errno, extra },
  };
}
