import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './switchboard.ts';

/** Before the work of a call: whether its connection has to end now, without the work. Waits as the fault asks for. */
export async function endsBefore(fault: Fault | undefined, signal?: AbortSignal): Promise<boolean> {
  if (fault?.kind === 'drop') return true;
  if (fault?.kind !== 'silence' || fault.done) return false;
  await delay(fault.milliseconds, undefined, signal ? { signal } : {});
  return true;
}

/** After the work of a call: whether its connection has to end now, without the answer. Waits as the fault asks for. */
export async function endsAfter(fault: Fault | undefined, signal?: AbortSignal): Promise<boolean> {
  if (fault?.kind === 'lose-reply') {
    fault.meanwhile?.();
    return true;
  }
  if (fault?.kind !== 'late' && fault?.kind !== 'silence') return false;
  await delay(fault.milliseconds, undefined, signal ? { signal } : {});
  return fault.kind === 'silence';
}
