import { describe, expect, it } from 'vitest';
import { Machine } from '../../api/machine.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/errors.ts';
import { patchStatus } from './objects.ts';

const { signal } = new AbortController();
const machineWith = (resourceVersion: string, phase: string): Machine =>
  ({ metadata: { name: 'm', uid: 'u', resourceVersion }, status: { phase } }) as unknown as Machine;
const lost = new KubeError({ status: 0, reason: 'Unreachable', message: 'other side closed' });

/** An API server with one Machine, whose next writes can fail before or after they are made. */
function openServer(first: Machine) {
  let current = first;
  const calls: string[] = [];
  const failures: ('before' | 'after' | KubeError)[] = [];
  const kube = {
    merge: async (...[, , patch]: Parameters<KubeClient['merge']>) => {
      calls.push('PATCH');
      const failure = failures.shift();
      if (failure === 'before') throw lost;
      if (failure instanceof KubeError) throw failure;
      const { phase } = (patch as { status?: { phase: string } }).status ?? {};
      if (phase === undefined) return await Promise.resolve(current);
      current = machineWith(String(Number(current.metadata.resourceVersion) + 1), phase);
      if (failure === 'after') throw lost;
      return await Promise.resolve(current);
    },
  } as unknown as KubeClient;
  const publish = (cached: Machine, phase: string) => patchStatus(kube, Machine, cached, { phase } as never, signal);
  return {
    calls,
    failures,
    publish,
    phase: () => (current.status as { phase?: string }).phase,
    current: () => current,
  };
}

describe('a status', () => {
  it('is written although the cache, which lags behind our last write, shows it already', async () => {
    const cached = machineWith('1', 'Ready');
    const server = openServer(cached);
    await server.publish(cached, 'Failed');
    await server.publish(cached, 'Ready');
    expect(server.phase()).toBe('Ready');
    expect(server.calls).toEqual(['PATCH', 'PATCH']);
  });

  it.each(['before', 'after'] as const)('is right after a write that failed %s it was made', async (when) => {
    const cached = machineWith('1', 'Ready');
    const server = openServer(cached);
    server.failures.push(when);
    await expect(server.publish(cached, 'Failed')).rejects.toThrow('other side closed');
    await server.publish(cached, 'Ready');
    expect(server.phase()).toBe('Ready');
    expect(server.calls).toEqual(when === 'after' ? ['PATCH', 'PATCH', 'PATCH'] : ['PATCH', 'PATCH']);
  });

  it('costs no call without a change, also once the cache has caught up', async () => {
    const cached = machineWith('1', 'Ready');
    const server = openServer(cached);
    await server.publish(cached, 'Failed');
    await server.publish(cached, 'Failed');
    await server.publish(server.current(), 'Failed');
    expect(server.calls).toEqual(['PATCH']);
  });

  it('is compared with the cache when another writer came after us', async () => {
    const cached = machineWith('1', 'Ready');
    const server = openServer(cached);
    await server.publish(cached, 'Failed');
    await server.publish(machineWith('9', 'Ready'), 'Failed');
    expect(server.calls).toEqual(['PATCH', 'PATCH']);
  });

  it('is not read again after a refusal', async () => {
    const cached = machineWith('1', 'Ready');
    const server = openServer(cached);
    server.failures.push(
      new KubeError({ status: 409, reason: 'Conflict', message: 'changed', details: { name: 'm' } }),
    );
    await expect(server.publish(cached, 'Failed')).rejects.toThrow('changed');
    await server.publish(cached, 'Failed');
    expect(server.calls).toEqual(['PATCH', 'PATCH']);
  });
});
