import { ProviderError } from './errors.ts';

/** A call to something outside that has ended. */
export interface CompletedCall {
  /** Whom was asked, e.g. `truenas` or `talos`: a kind of system, not one of them. */
  readonly system: string;
  /** What for, by its name in that system's API. */
  readonly name: string;
  /** `ok`, the code of a ProviderError, `cancelled`, or `error`. */
  readonly result: string;
  readonly seconds: number;
  /** What it drew on, where calls are limited. */
  readonly allowance?: CallQuota | undefined;
}

/** So many calls that somebody may make in an hour. */
export interface CallQuota {
  /** Whose it is, as people know it: never a login. */
  readonly owner: string;
  /** Which calls share it. */
  readonly name: string;
  /** How many are left at this moment. */
  remaining(): number;
}

/** Learns of every call that has ended. It must not throw. */
export type CallObserver = (call: CompletedCall) => void;

/** How the run of a step ended: as it said, or because it threw. */
export type StepRunResult = 'done' | 'wait' | 'back' | 'fail' | 'error';

/** A step, as metrics tell one from another. */
export interface StepLabels {
  readonly platform: string;
  readonly plan: 'provision' | 'release' | 'mend' | 'inspect' | 'reboot';
  readonly step: string;
}

/** Learns what the controllers did. It must not throw. */
export interface ProviderObserver {
  step(names: StepLabels, end: StepRunResult, seconds: number): void;
  /** An AccessRequest was given what it asked for, or its Secret was written anew. */
  granted(kind: 'token' | 'oidc', occasion: 'new' | 'renewal'): void;
}

/** For those whom nobody watches. */
export const noopCallObserver: CallObserver = () => {};

/** Does a call and tells how it ended. */
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
  const tell = (result: string): void =>
    observer({ system, name, result, seconds: (performance.now() - start) / 1000, ...(allowance && { allowance }) });
  try {
    const value = await work();
    tell('ok');
    return value;
  } catch (error) {
    tell(signal?.aborted ? 'cancelled' : error instanceof ProviderError ? error.code : 'error');
    throw error;
  }
}
