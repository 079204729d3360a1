import { expect, it } from 'vitest';
import { noLog } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import { reconcileCluster } from './controller.ts';

it('closes all connections of a Cluster that is gone, however it was deleted', async () => {
  const forgotten: unknown[] = [];
  const forget = async (ref: unknown) => void forgotten.push(ref);
  // Any other service that it accesses does not exist.
  const services = { stores: { clusters: { get: () => undefined } }, nodes: { forget }, targets: { forget } };
  const context = { signal: new AbortController().signal, log: noLog };
  const ref = { namespace: 'team', name: 'gone' };
  expect(await reconcileCluster(services as unknown as Services, ref, context)).toEqual({});
  expect(forgotten).toEqual([ref, ref]);
});
