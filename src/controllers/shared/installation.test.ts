import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { ConfigMap } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import { noLog } from '../../lib/log.ts';
import { awaitInstallation } from './installation.ts';

const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'b7a1' } };
const failure = (status: number, reason: string) => new KubeError({ status, reason, message: 'no' });

/** An API server that fails with each of these errors first. */
const ask = (...failures: unknown[]) => askWith(undefined, failures);

function askWith(imported: Pick<ConfigMap, 'data'> | undefined, failures: readonly unknown[] = []) {
  const clock = new ManualClock();
  const stop = new AbortController();
  let calls = 0;
  const get = async (): Promise<unknown> => {
    const thrown = failures[calls];
    calls += 1;
    if (thrown !== undefined) throw thrown;
    return kubeSystem;
  };
  const kube = { get, find: async () => imported } as unknown as Pick<KubeClient, 'get' | 'find'>;
  const found = awaitInstallation({ kube, namespace: 'own', clock, log: noLog, random: () => 1 }, stop.signal);
  return { clock, stop, found, calls: () => calls };
}

describe('the id of this installation', () => {
  it('is requested again with growing intervals after any error', async () => {
    const { clock, found, calls } = ask(failure(0, 'Unreachable'), failure(503, 'Overload'), failure(403, 'Forbidden'));
    await clock.advance(999);
    expect(calls()).toBe(1);
    await clock.advance(1);
    expect(calls()).toBe(2);
    await clock.advance(1999);
    expect(calls()).toBe(2);
    await clock.advance(5000);
    expect(await found).toEqual({ id: 'b7a1', isImported: false });
    expect(calls()).toBe(4);
  });

  it('is that of the former platform cluster after an import', async () => {
    const { found, calls } = askWith({ data: { id: 'f0e1' } });
    expect(await found).toEqual({ id: 'f0e1', isImported: true });
    expect(calls()).toBe(0);
  });

  it('is undefined when the process stops', async () => {
    const { clock, stop, found } = ask(failure(503, 'Overload'));
    await clock.settle();
    stop.abort(new Error('stopped'));
    expect(await found).toBeUndefined();
  });

  it('does not hide an internal error', async () => {
    await expect(ask(new TypeError('oops')).found).rejects.toThrow('oops');
  });
});
