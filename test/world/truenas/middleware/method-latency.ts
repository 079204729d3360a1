import { setTimeout as delay } from 'node:timers/promises';
import type { NasState } from '../nas-state.ts';

/** Waits for the latency of method `name`. Rejects early when the call is cancelled. */
export async function delayByLatency({ latencies }: NasState, name: string, signal: AbortSignal): Promise<void> {
  const milliseconds = latencies.get(name) ?? latencies.get('*') ?? 0;
  if (milliseconds > 0) await delay(milliseconds, undefined, { signal });
}
