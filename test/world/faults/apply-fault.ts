import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './call-interceptor.ts';

/**
 * Before the work of a call: whether its connection must end now, without the work. Waits for the delay of the fault.
 */
export async function applyFaultBeforeCall(fault: Fault | undefined, signal?: AbortSignal): Promise<boolean> {
  if (fault?.kind === 'drop') return true;
  const isSilence = fault?.kind === 'silence' && !fault.done;
  if (!isSilence && !(fault?.kind === 'cut' && fault.of === 'request')) return false;
  await stall(fault, signal);
  return true;
}

/**
 * After the work of a call: whether its connection must end now, without the answer. Waits for the delay of the fault.
 */
export async function applyFaultAfterCall(fault: Fault | undefined, signal?: AbortSignal): Promise<boolean> {
  if (fault?.kind === 'lose-reply') {
    fault.meanwhile?.();
    return true;
  }
  if (fault?.kind !== 'late' && fault?.kind !== 'silence' && fault?.kind !== 'cut') return false;
  await stall(fault, signal);
  return fault.kind !== 'late';
}

/** Silence for the duration of the fault. */
export async function stall(
  { milliseconds = 0 }: { readonly milliseconds?: number },
  signal?: AbortSignal,
): Promise<void> {
  await delay(milliseconds, undefined, signal ? { signal } : {});
}
