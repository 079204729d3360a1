import { ProviderError } from './errors.ts';

/** A finished call to an external system. */
export interface CompletedCall {
  /** The kind of system that was called, e.g. `talos`, not a single instance. */
  readonly system: string;
  /** Name of the operation in that system's API. */
  readonly name: string;
  /** `ok`, the code of a ProviderError, `cancelled`, or `error`. */
  readonly result: string;
  readonly seconds: number;
  /** The quota that it used, if calls are limited. */
  readonly allowance?: CallQuota | undefined;
}

/** A limited number of calls per hour. */
export interface CallQuota {
  /** The owner as users know it: never a login. */
  readonly owner: string;
  /** The group of calls that shares the quota. */
  readonly name: string;
  /** How many calls an hour has. */
  total(): number;
  /** How many calls are left at this moment. */
  remaining(): number;
}

/** Called after every finished call. It must not throw. */
export type CallObserver = (call: CompletedCall) => void;

/** The result of a step: its outcome, or `error` when it threw. */
export type StepRunResult = 'done' | 'wait' | 'back' | 'fail' | 'error';

/** The labels of a step in metrics. */
export interface StepLabels {
  readonly platform: string;
  readonly plan: 'provision' | 'update' | 'release' | 'repair' | 'inspect' | 'reboot';
  readonly step: string;
}

/** Called with the results of the controllers. It must not throw. */
export interface ProviderObserver {
  step(names: StepLabels, end: StepRunResult, seconds: number): void;
  /** Access was granted to an AccessRequest, or its Secret was renewed. */
  granted(kind: 'token' | 'oidc', trigger: 'new' | 'renewal'): void;
  /** The restart or replacement of an unhealthy node was decided. */
  remediated(platform: string, action: 'Restart' | 'Replace'): void;
}

/** For callers without metrics. */
export const noopCallObserver: CallObserver = () => {};

/** Makes a call and reports its result. */
export async function observeCall<T>(
  observer: CallObserver,
  {
    system,
    name,
    signal,
    allowance,
  }: Pick<CompletedCall, 'system' | 'name' | 'allowance'> & { readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const observe = (result: string): void =>
    observer({ system, name, result, seconds: (performance.now() - start) / 1000, ...(allowance && { allowance }) });
  try {
    const value = await work();
    observe('ok');
    return value;
  } catch (error) {
    observe(signal?.aborted ? 'cancelled' : error instanceof ProviderError ? error.code : 'error');
    throw error;
  }
}
