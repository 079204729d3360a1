import { expect, it } from 'vitest';
import { Machine } from '../../api/machine.ts';
import { openmcpKeys } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/errors.ts';
import { consumeOperation, ensureFinalizer } from './objects.ts';

const { signal } = new AbortController();
const machine = { metadata: { name: 'm', finalizers: ['of.others/x'] } } as Machine;
const failing = (status: number, reason: string, details = {}): KubeClient =>
  ({
    merge: async () => await Promise.reject(new KubeError({ status, reason, message: reason, details })),
  }) as unknown as KubeClient;

it('an object that is gone needs no finalizer', async () => {
  const kube = failing(404, 'NotFound', { name: 'm' });
  expect(await ensureFinalizer(kube, Machine, machine, 'ours/x', signal)).toBeUndefined();
});

it('a conflict is thrown, and so is a kind that the API server does not have', async () => {
  for (const kube of [failing(409, 'Conflict', { name: 'm' }), failing(404, 'NotFound')])
    await expect(ensureFinalizer(kube, Machine, machine, 'ours/x', signal)).rejects.toThrow(KubeError);
});

it('the object after the removal of `reconcile` is used: writes over the previous version would conflict', async () => {
  const asked = {
    metadata: { name: 'm', resourceVersion: '1', annotations: { [openmcpKeys.operation]: 'reconcile' } },
  };
  const then = { metadata: { name: 'm', resourceVersion: '2' } };
  const kube = { merge: async () => await Promise.resolve(then) } as unknown as KubeClient;
  const taken = await consumeOperation(kube, Machine, asked as unknown as Machine, signal);
  expect(taken).toEqual({ operation: 'reconcile', object: then });
});
