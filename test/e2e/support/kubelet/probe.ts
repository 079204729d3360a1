import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import type { Container, HttpProbe } from './pod-types.ts';

/** Probes as a kubelet does, until the signal aborts. Yields at each threshold of successes or failures in a row. */
export async function* probeResults(
  probe: HttpProbe,
  { container, address, signal }: { container: Container; address: string; signal: AbortSignal },
): AsyncGenerator<boolean, void, undefined> {
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, successThreshold = 1 } = probe;
  const url = urlOf(probe, container, address);
  let [good, bad] = [0, 0];
  let delaySeconds = initialDelaySeconds;
  while (await sleepUnlessAborted(delaySeconds, signal)) {
    const isGood = await probeOnce(url, probe.timeoutSeconds ?? 1, signal);
    [good, bad] = isGood ? [good + 1, 0] : [0, bad + 1];
    if (signal.aborted) return;
    if (good >= successThreshold) yield true;
    if (bad >= failureThreshold) yield false;
    delaySeconds = periodSeconds;
  }
}

/** False when the signal came first. */
async function sleepUnlessAborted(seconds: number, signal: AbortSignal): Promise<boolean> {
  await pause(seconds * 1000, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}

function urlOf({ httpGet }: HttpProbe, { name, ports = [] }: Container, address: string): string {
  if (!httpGet) throw new Error(`a probe of ${name} is of a kind that is not known to this kubelet`);
  const named = ports.find((port) => port.name === httpGet.port)?.containerPort;
  return `http://${address}:${named ?? httpGet.port}${httpGet.path ?? '/'}`;
}

async function probeOnce(url: string, timeoutSeconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
    const { statusCode, body } = await request(url, { signal: limit });
    await body.dump();
    return statusCode >= 200 && statusCode < 400;
  } catch {
    return false; // Any error counts as a failure.
  }
}
