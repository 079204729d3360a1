import { beforeEach, describe, expect, it } from 'vitest';
import { aCluster, anAccessRequest, anInstance, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { openmcpKeys } from '../../api/names.ts';
import type { AccessRequest, Cluster } from '../../api/openmcp/types.ts';
import { noLog } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import { reconcileAccessRequest } from './controller.ts';

const clock = new ManualClock();
let reported: string[];
let logged: string[];
let cluster: Cluster | undefined;
let isOfOthers = false;
beforeEach(() => {
  [reported, logged, cluster, isOfOthers] = [[], [], aCluster(), false];
});

const profile = (provider: string) => ({
  metadata: { name: aCluster().spec.profile },
  spec: { providerRef: { name: provider }, providerConfigRef: { name: aProviderConfig().metadata.name } },
});

/** An AccessRequest of that age in seconds, without labels or status. */
function fresh(seconds: number, change: Partial<AccessRequest> = {}): AccessRequest {
  const { metadata, spec, ...rest } = anAccessRequest({ clusterRef: { namespace: 'team', name: 'prod' } });
  const creationTimestamp = new Date(clock.now().getTime() - seconds * 1000).toISOString();
  const { status: _, ...bare } = { ...rest, metadata: { ...metadata, labels: {}, creationTimestamp }, spec };
  return { ...bare, ...change } as AccessRequest;
}

async function look(request: AccessRequest) {
  const services = {
    kube: {},
    ...anInstance,
    clock,
    stores: {
      accessRequests: { get: () => request },
      accessSecrets: { get: () => undefined },
      clusters: { get: () => cluster },
      profiles: { get: () => profile(isOfOthers ? 'others' : 'talos') },
      providerConfigs: { list: () => [aProviderConfig()] },
    },
    events: {
      record: (_: object, type: string, reason: string, message: string) =>
        void reported.push(`${type} ${reason}: ${message}`),
    },
  } as unknown as Services;
  const log = { ...noLog, warn: (_: object, message: string) => void logged.push(message) };
  const { namespace = '', name } = request.metadata;
  const { signal } = new AbortController();
  return await reconcileAccessRequest(services, { accountNamespace: 'accounts' }, { namespace, name }, { signal, log });
}

describe('a request that the openMCP operator has not answered', () => {
  it('is awaited at first', async () => {
    expect(await look(fresh(20))).toEqual({ requeueAfterSeconds: 40 });
    expect([reported, logged]).toEqual([[], []]);
  });

  it('is reported as an Event on its Cluster and in the log after a minute', async () => {
    expect(await look(fresh(60))).toEqual({});
    expect(reported).toEqual([
      expect.stringMatching(/^Warning AccessRequestUnanswered: AccessRequest .* Check that the operator is running\.$/),
    ]);
    expect(logged).toHaveLength(1);
  });

  it.each<[string, () => AccessRequest]>([
    [
      'has a label of a provider',
      () => {
        const request = fresh(600);
        return { ...request, metadata: { ...request.metadata, labels: { [openmcpKeys.provider]: 'others' } } };
      },
    ],
    ['was denied', () => fresh(600, { status: { observedGeneration: 1, phase: 'Denied' } })],
    [
      'is being deleted',
      () => {
        const request = fresh(600);
        return { ...request, metadata: { ...request.metadata, deletionTimestamp: '2026-11-23T10:00:00Z' } };
      },
    ],
    [
      'is for no Cluster',
      () => {
        cluster = undefined;
        return fresh(600);
      },
    ],
    [
      'is for a Cluster of another provider',
      () => {
        isOfOthers = true;
        return fresh(600);
      },
    ],
  ])('is not reported if it %s', async (_, make) => {
    expect(await look(make())).toEqual({});
    expect([reported, logged]).toEqual([[], []]);
  });
});
