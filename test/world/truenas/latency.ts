import { setTimeout as delay } from 'node:timers/promises';
import type { Nas } from './nas.ts';

/** Waits as long as each call of `name` takes here. Ends early, by throwing, when the call is cancelled. */
export async function takeTime({ latencies }: Nas, name: string, signal: AbortSignal): Promise<void> {
  const milliseconds = latencies.get(name) ?? latencies.get('*') ?? 0;
  if (milliseconds > 0) await delay(milliseconds, undefined, { signal });
}
